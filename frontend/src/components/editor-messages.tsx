import { type ReactNode, useEffect, useState } from 'react';

/** After a pause of that length a screen reader may speak: 1 second. */
export const pauseMs = 1000;

/**
 * The messages about the text of an editor. A screen reader announces them once the person pauses:
 * while they type, nearly every keystroke leaves another error
 * (https://www.w3.org/TR/wai-aria-1.2/#aria-busy).
 */
export function EditorMessages({
  id,
  value,
  className,
  children,
}: {
  id: string;
  /** The text of the editor. */
  value: string;
  className: string;
  children: ReactNode;
}) {
  const [announced, setAnnounced] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setAnnounced(value), pauseMs);
    return () => clearTimeout(timer);
  }, [value]);
  return (
    <div id={id} aria-live="polite" aria-busy={value !== announced} className={className}>
      {children}
    </div>
  );
}
