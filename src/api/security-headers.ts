import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import helmet from 'helmet'
import type { Frame, HeaderName } from './exchange.ts'

/**
 * The security headers of every answer, by helmet, worked out once instead of with each request.
 *
 * Those that only matter to pages with scripts are left out, and so is `Strict-Transport-Security`, which is up
 * to the proxy that ends TLS.
 */
export function createSecurityHeaders(): Frame['baseHeaders'] {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  const setHeaders = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        'default-src': ["'none'"],
        'base-uri': ["'none'"],
        'form-action': ["'none'"],
        'frame-ancestors': ["'none'"],
      },
    },
    crossOriginOpenerPolicy: false,
    originAgentCluster: false,
    strictTransportSecurity: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xFrameOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false,
  })
  setHeaders(response.req, response, (error) => {
    if (error) throw error
  })
  // Node gives the names back in lower case.
  return Object.entries(response.getHeaders()).map(([name, value]) => ({
    name: name as HeaderName,
    value: String(value),
  }))
}
