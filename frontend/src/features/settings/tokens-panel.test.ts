import { expect, it } from 'vitest';
import { onlyMasked } from './tokens-panel';

it('a diff that shows nothing but masked secrets is told in words', () => {
  const same = '@@ -1,3 +1,3 @@\n {\n-  "token": "***"\n+  "token": "***"\n }\n';
  expect(onlyMasked(same)).toBe(true);
  expect(onlyMasked(same.replace('+  "token"', '+  "other"'))).toBe(false);
  expect(onlyMasked('@@ -1,2 +1,1 @@\n {\n-  "token": "***"\n')).toBe(false); // it goes
  expect(onlyMasked('')).toBe(false);
});
