/** What sealed values are the secrets of. A value that is moved to another row does not open there. */
export const projectSubject = (id: string): string => `project ${id}`
export const attachmentSubject = (projectId: string): string => `attachment ${projectId}`
export const attachedServerSubject = (id: string): string => `attached server ${id}`
export const jobSubject = (id: string): string => `job ${id}`
export const scheduleSubject = (id: string): string => `schedule ${id}`
export const webhookSubject = (id: string): string => `webhook ${id}`
