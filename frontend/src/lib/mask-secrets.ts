const dots = '••••••••';
const sensitive =
  /(key|token|secret|passw|passphrase|pwd|_pat$|^pat$|auth|credential|cookie|private|dsn)/i;

/** Values that are recognized by their prefix, anywhere. */
const known =
  /\b(sk-|gh[opsu]_|github_pat_|glpat-|xox[abprs]-|AKIA|eyJ[\w-]{10}|dbr_|npm_|hf_)[\w.~+/-]{6,}=*/g;

/** Whether the name or the value of a variable or header indicates a secret. */
export function isSensitive(name: string, value: string): boolean {
  return sensitive.test(name) || value.search(known) >= 0;
}

/**
 * Masks literal values of members and command line options whose names indicate a secret, passwords
 * in URLs, and values that look like tokens. A reference such as ${NAME} is not masked.
 */
export function maskSecrets(entry: string): string {
  return entry
    .replace(
      /("(?:[^"\\]|\\.)*")(\s*:\s*)"((?:[^"\\]|\\.)*)"/g,
      (whole, name: string, colon: string, value: string) =>
        sensitive.test(name.slice(1, -1)) && value !== '' && !/^(\w+ )?\$\{[^}]+\}$/.test(value)
          ? `${name}${colon}"${dots}"`
          : whole,
    )
    .replace(
      /("--?[\w-]*(?:key|token|secret|passw\w*|pwd)[\w-]*(?:=|"\s*,\s*"))((?:[^"\\]|\\.)*)"/gi,
      (whole, name: string, value: string) => (value.startsWith('${') ? whole : `${name}${dots}"`),
    )
    .replace(/(:\/\/[^/?#"\s:@]*:)(?!\$\{)[^/?#"\s@]+@/g, `$1${dots}@`)
    .replace(/((?:Bearer|Basic) +)(?!\$\{)[^"\s\\]+/gi, `$1${dots}`)
    .replace(known, dots);
}
