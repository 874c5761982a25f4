/** The views of one server, as named in the URL; the last one has no tab while it is not shown. */
export const views = ['about', 'tools', 'calls', 'log', 'config', 'diagnostics'] as const;
export type View = (typeof views)[number];

const states = ['attention', 'running', 'off'] as const;
const orders = ['name', 'state', 'tools', 'calls', 'errors'] as const;

/** Which servers are listed, and in what order: by default those first that need attention. */
export interface ServerFilters {
  q?: string | undefined;
  tag?: string | undefined;
  state?: (typeof states)[number] | undefined;
  sort?: (typeof orders)[number] | undefined;
}

export const stateFilterOf = (text: unknown) => states.find((one) => one === text);
export const orderOf = (text: unknown) => orders.find((one) => one === text);
