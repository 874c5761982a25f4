/** Whether a value is a map: an object of JSON, not an array. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value of an untrusted key in a map; the key may be "constructor". */
export function ownValue<T>(map: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

/** A copy of a tree of maps without prototypes, so that only its own keys are found. */
export function withoutPrototypes<T extends object>(tree: T): T {
  for (const value of Object.values(tree)) if (isRecord(value)) withoutPrototypes(value);
  return Object.setPrototypeOf(tree, null);
}
