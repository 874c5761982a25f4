declare module '*/dev/api-types.mjs' {
  export function generate(): Promise<string>;
}
