import { duration, moment } from '@/lib/format';
import { useNow } from '@/lib/now';
import type { Call } from '@/types/api';

/** The duration of a call; for a running call, the elapsed time. */
export function CallDuration({ call }: { call: Call }) {
  return call.outcome === '' ? <Elapsed at={call.at} /> : duration(call.tookNs);
}

function Elapsed({ at }: { at: string }) {
  const seconds = Math.max(0, Math.floor((useNow() - (moment(at) ?? 0)) / 1000));
  const so = seconds < 60 ? `${seconds} s` : duration(seconds * 1e9);
  return <span className="text-accent">{so}</span>;
}
