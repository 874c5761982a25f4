/** The views of one server, as named in the URL. */
export const views = ['about', 'tools', 'calls', 'log', 'config', 'processes', 'debug'] as const;
export type View = (typeof views)[number];
