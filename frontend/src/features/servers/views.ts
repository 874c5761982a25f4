/** The views of one server, as they stand in the address. */
export const views = ['about', 'tools', 'calls', 'log', 'config', 'processes', 'debug'] as const;
export type View = (typeof views)[number];
