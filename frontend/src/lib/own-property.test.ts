import { expect, test } from 'vitest';
import { ownValue, withoutPrototypes } from './own-property';
import { texts } from './texts';

const strange = ['constructor', 'toString', '__proto__', 'hasOwnProperty'];

test('inherited properties of objects are not found', () => {
  for (const key of strange) {
    expect(ownValue({ a: 1 }, key)).toBeUndefined();
    expect(withoutPrototypes({ a: { b: 1 } }).a[key as 'b']).toBeUndefined();
    expect(texts.outcomes[key as 'ok']).toBeUndefined();
    expect(texts.states[key as 'running']).toBeUndefined();
  }
});
