const dots = '••••••••';
const sensitive =
  /(key|token|secret|passw|passphrase|pwd|_pat$|^pat$|auth|credential|cookie|private|dsn)/i;

/** Values that are known by how they begin, wherever they stand. */
const known =
  /\b(sk-|gh[opsu]_|github_pat_|glpat-|xox[abprs]-|AKIA|eyJ[\w-]{10}|dbr_|npm_|hf_)[\w.~+/-]{6,}=*/g;

/** Whether a variable or header, by its name or its value, holds a secret. */
export function isSensitive(name: string, value: string): boolean {
  return sensitive.test(name) || value.search(known) >= 0;
}

/**
 * Hides literal values of members, and words of the command line, whose names sound secret,
 * passwords inside addresses, and what looks like a token. A reference such as ${NAME} is
 * no secret and stays.
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
