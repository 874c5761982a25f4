/** What a map says of a key that a stranger wrote, which may be "constructor". */
export function ownValue<T>(map: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

/** The same tree of maps, in which nothing is found but what stands in them. */
export function withoutPrototypes<T extends object>(tree: T): T {
  for (const value of Object.values(tree))
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      withoutPrototypes(value);
  return Object.setPrototypeOf(tree, null);
}
