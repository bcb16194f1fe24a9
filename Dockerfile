# syntax=docker/dockerfile:1
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY prisma.config.ts tsconfig.json ./
COPY prisma prisma
COPY src src
COPY docs docs
# Texts that become pages at /docs.
COPY README.md SECURITY.md CONTRIBUTING.md CHANGELOG.md LICENSE .env.example ./
COPY bench/README.md bench/README.md
COPY scripts scripts
RUN npm run build

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# Optional packages are the binaries of the embedded PostgreSQL: in a container, the database has one of its own.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM ${NODE_IMAGE}
ENV NODE_ENV=production \
    WHARF_HOST=0.0.0.0 \
    WHARF_PORT=4000 \
    WHARF_DATA_DIR=/data \
    WHARF_ARTIFACTS=/artifacts
WORKDIR /app
# A named volume takes its owner from the folder that it is mounted over.
RUN install -d -o node -g node -m 700 /data /artifacts
COPY package.json CHANGELOG.md LICENSE ./
COPY prisma prisma
COPY demo demo
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /app/dist dist
USER node
EXPOSE 4000
# What is right for `api` and `start`; a `worker` listens nowhere, and ends itself where it hangs.
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
    CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.WHARF_PORT + '/healthz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# Node itself is told of SIGTERM, and hands work in progress back to the queue before it ends.
ENTRYPOINT ["node", "dist/main.js"]
CMD ["start"]
