/** The clients, profiles, connections and backups of the configuration. */
export const clientsTexts = {
  clients: {
    calls: (n: string) => (n === '1' ? '1 call' : `${n} calls`),
    seen: (age: string) => `Last seen ${age} ago`,
  },
  connections: {
    servers: (n: number) => (n === 1 ? '1 server' : `${n} servers`),
  },
  configCopies: {
    title: 'Configuration file',
    copiesTitle: 'Configuration backups',
  },
} as const;
