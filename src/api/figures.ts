export type Figures = readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[]

/** Adds a figure that is asked for each time that somebody asks for all. */
export type AddGauge = (name: string, help: string, labelNames: readonly string[], read: () => Promise<Figures>) => void

/** As Prometheus has times; 0 for none. */
export const secondsOf = (time: Date | null | undefined): number => (time ? time.getTime() / 1_000 : 0)
