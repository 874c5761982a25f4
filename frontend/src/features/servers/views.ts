/** The views of one server, as they stand in the address. */
export const views = ['about', 'tools', 'log', 'debug'] as const;
export type View = (typeof views)[number];
