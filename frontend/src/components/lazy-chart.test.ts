import { expect, it } from 'vitest';
import { ensureLanguage } from './lazy-chart';

it('a language that Intl rejects does not prevent charts from loading', () => {
  Object.defineProperty(navigator, 'language', { value: 'C', configurable: true });
  expect(() => new Intl.NumberFormat(navigator.language)).toThrow();
  ensureLanguage();
  expect(() => new Intl.NumberFormat(navigator.language)).not.toThrow();
});
