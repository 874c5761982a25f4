import { expect, it } from 'vitest';
import { onlyMasked } from './access-tokens';

it('a diff in which only masked secrets change is detected', () => {
  const same = '@@ -1,3 +1,3 @@\n {\n-  "token": "***"\n+  "token": "***"\n }\n';
  expect(onlyMasked(same)).toBe(true);
  expect(onlyMasked(same.replace('+  "token"', '+  "other"'))).toBe(false);
  expect(onlyMasked('@@ -1,2 +1,1 @@\n {\n-  "token": "***"\n')).toBe(false); // it is removed
  expect(onlyMasked('')).toBe(false);
});
