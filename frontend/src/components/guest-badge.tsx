import { useIsGuest } from '@/lib/guests-query';

/** Marks the client with a token if it is a guest. */
export function GuestBadge({ token }: { token: string }) {
  const isGuest = useIsGuest();
  if (!isGuest(token)) return null;
  return <span className="rounded bg-accent-soft px-1.5 text-xs text-accent">Guest</span>;
}
