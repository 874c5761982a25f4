import { QueryClient } from '@tanstack/react-query';
import { expect, it } from 'vitest';
import type { Approval } from '@/types/api';
import { applyApproval } from './events';

const approval = (id: string, state = '') => ({ id, state }) as Approval;

it('an approval is listed once, and removed when it ends for any reason', () => {
  const client = new QueryClient();
  const ids = () => client.getQueryData<Approval[]>(['approvals'])?.map((q) => q.id);
  applyApproval(client, approval('1'));
  applyApproval(client, approval('2'));
  applyApproval(client, approval('1'));
  expect(ids()).toEqual(['2', '1']);
  applyApproval(client, approval('2', 'expired'));
  expect(ids()).toEqual(['1']);
  applyApproval(client, approval('none', 'withdrawn'));
  expect(ids()).toEqual(['1']);
});
