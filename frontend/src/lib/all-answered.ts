import { useEffect, useRef, useState } from 'react';

/** How long parts that come later may hold back the page they would push about. */
const patienceMs = 1500;

/**
 * Whether every one of these has been answered, once and for good: what came in parts would
 * move under the hand. One that takes long no longer counts; one that failed is an answer.
 */
export function useAllAnswered(parts: { isPending: boolean }[]): boolean {
  const [late, setLate] = useState(false);
  const was = useRef(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), patienceMs);
    return () => clearTimeout(timer);
  }, []);
  if (late || parts.every((part) => !part.isPending)) was.current = true;
  return was.current;
}
