import { QueryClient } from '@tanstack/react-query';
import { expect, test } from 'vitest';
import { applyEvents } from './apply-stream-events';

test('what clients are offered is read again after a change of the configuration or of tools', () => {
  for (const type of ['config', 'catalog']) {
    const client = new QueryClient();
    const keys = [['connections'], ['profiles'], ['connections', 'cursor', 'plan']];
    for (const key of keys) client.setQueryData(key, {});
    applyEvents(client, [{ type, data: '{}', id: '' }]);
    expect(keys.map((key) => client.getQueryState(key)?.isInvalidated)).toEqual([
      true,
      true,
      false, // the review of a change stays as it is
    ]);
  }
});
