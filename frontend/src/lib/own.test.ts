import { expect, test } from 'vitest';
import { bare, own } from './own';
import { texts } from './texts';

const strange = ['constructor', 'toString', '__proto__', 'hasOwnProperty'];

test('a map finds nothing under the names that every object has', () => {
  for (const key of strange) {
    expect(own({ a: 1 }, key)).toBeUndefined();
    expect(bare({ a: { b: 1 } }).a[key as 'b']).toBeUndefined();
    expect(texts.outcomes[key as 'ok']).toBeUndefined();
    expect(texts.states[key as 'running']).toBeUndefined();
  }
});
