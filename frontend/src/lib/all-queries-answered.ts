import { useEffect, useRef, useState } from 'react';

/** How long slow parts delay the page whose layout they would shift. */
const waitMs = 3000;

/**
 * Whether all of these queries have a response; once true, it stays true. Showing them one by one
 * would shift the layout. Slow queries are ignored after a while; an error is a response.
 */
export function useAllQueriesAnswered(parts: { isPending: boolean }[]): boolean {
  const [late, setLate] = useState(false);
  const was = useRef(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), waitMs);
    return () => clearTimeout(timer);
  }, []);
  if (late || parts.every((part) => !part.isPending)) was.current = true;
  return was.current;
}
