/** What a secret is shown as. */
export const dots = '••••••••';

// A test compares these lists with what the daemon recognizes (backend/redact). Here more counts as
// a secret: a value that is hidden without need can still be shown and edited.

const sensitive =
  /(key|token|secret|passw|passphrase|pwd|[-_]pat$|^pat$|[-_]pass$|^pass$|^otp$|auth|bearer|credential|cookie|private|dsn|signature|connection[-_]?string)/i;

const prefixes =
  'dbr_ gh[oprsu]_ github_pat_ glpat- glptt- sk- [rs]k_live_ sk_test_ whsec_ xox[abeprs]- xapp- A[KS]IA AIza ya29\\. GOCSPX- eyJ[\\w-]{10} npm_ pypi- hf_ SG\\. shpat_ shpss_ dop_v1_ ntn_ secret_(?=\\w{32}) lin_api_ figd_ sntry[su]_ AGE-SECRET-KEY-';

/** Values that are recognized by their format, anywhere. */
const known = new RegExp(
  `\\b(?:${prefixes.replaceAll(' ', '|')})[\\w.~+/-]{6,}=*|-----BEGIN [A-Z ]*PRIVATE KEY-----[^"]*`,
  'g',
);

/** Whether the name or the value of a variable or header indicates a secret. */
export function isSensitive(name: string, value: string): boolean {
  return sensitive.test(name) || value.search(known) >= 0;
}

/**
 * Masks literal values of members and command line options whose names indicate a secret, passwords
 * in URLs, and values that look like tokens. A reference such as ${NAME} is not masked.
 */
export function maskSecrets(entry: string): string {
  const members = entry.replace(
    /("(?:[^"\\]|\\.)*")(\s*:\s*)"((?:[^"\\]|\\.)*)"/g,
    (whole, name: string, colon: string, value: string) =>
      sensitive.test(name.slice(1, -1)) && value !== '' && !/^(\w+ )?\$\{[^}]+\}$/.test(value)
        ? `${name}${colon}"${dots}"`
        : whole,
  );
  return maskOptions(members)
    .replace(/(:\/\/[^/?#"\s:@]*:)(?!\$\{)[^/?#"\s@]+@/g, `$1${dots}@`)
    .replace(/((?:Bearer|Basic) +)(?!\$\{)[^"\s\\]+/gi, `$1${dots}`)
    .replace(known, dots);
}

/** Masks the values of options, `--name=value` or the string after `--name`. */
function maskOptions(entry: string): string {
  const option = /"--?([\w-]+)(=|"\s*,\s*")/g;
  const rest = /(?:[^"\\]|\\.)*/y;
  let masked = '';
  let from = 0;
  for (let found = option.exec(entry); found; found = option.exec(entry)) {
    const start = option.lastIndex;
    rest.lastIndex = start;
    const value = rest.exec(entry)?.[0] ?? '';
    if (sensitive.test(found[1] ?? '') && !/^(\$\{|--)/.test(value)) {
      masked += entry.slice(from, start) + dots;
      from = start + value.length;
      option.lastIndex = from;
    } else if (found[2] !== '=') option.lastIndex = start - 1; // the string may be an option itself
  }
  return masked + entry.slice(from);
}
