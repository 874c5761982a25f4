import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Button } from '@/components/button';
import { Section } from '@/components/fields';
import { cut, escapeControlCharacters } from '@/lib/format';
import { messageOf, request } from '@/lib/request';
import { texts } from '@/lib/texts';
import type { App, CallDetail } from '@/types/api';
import { appHost, isJsonObject } from './mcp-app-host';

const t = texts.calls.app;

/**
 * The MCP App of a call: HTML from its server, in a sandboxed frame without an origin, network
 * access or access to the page. It runs only when the user opens it.
 */
export function CallApp({ call, approvals }: { call: CallDetail; approvals?: ReactNode }) {
  const app = useMutation({
    mutationFn: () => request<App>('POST', `/api/v1/calls/${encodeURIComponent(call.id)}/app`),
  });
  const complete = isJsonObject(call.result) && (!call.arguments || isJsonObject(call.arguments));
  return (
    <Section
      title={t.title}
      aside={
        complete && (
          <Button
            small
            look="quiet"
            disabled={app.isPending}
            onClick={() => (app.data ? app.reset() : app.mutate())}
          >
            {app.data ? t.close : t.show}
          </Button>
        )
      }
    >
      {app.data ? (
        <>
          <AppFrame key={app.submittedAt} call={call} html={app.data.html} />
          {approvals}
        </>
      ) : (
        <p className="text-sm text-ink2 [overflow-wrap:anywhere]">
          {complete ? t.hint(escapeControlCharacters(cut(call.app ?? '', 200))) : t.incomplete}
        </p>
      )}
      {app.error && (
        <p role="alert" className="mt-2 text-sm text-bad [overflow-wrap:anywhere]">
          {escapeControlCharacters(messageOf(app.error).slice(0, 1000))}
        </p>
      )}
    </Section>
  );
}

/** The frame of an app, and the calls that the app made. */
function AppFrame({ call, html }: { call: CallDetail; html: string }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const sent = useRef(false);
  const [height, setHeight] = useState(320);
  const [made, setMade] = useState<{ id: string; tool: string }[]>([]);
  const { id, arguments: args = '', result = '' } = call;

  useEffect(() => {
    // The frame has an opaque origin, so "*" is the only possible target.
    const post = (message: object) => frame.current?.contentWindow?.postMessage(message, '*');
    const hear = appHost({
      callId: id,
      args,
      result,
      context: {
        theme: document.documentElement.dataset.theme === 'dark' ? 'dark' : 'light',
        displayMode: 'inline',
        availableDisplayModes: ['inline'],
        locale: navigator.language,
        platform: 'desktop',
      },
      post,
      resize: (wanted) => setHeight(Math.max(wanted, 40)),
      called: (callId, tool) => setMade((before) => [...before, { id: callId, tool }].slice(-20)),
    });
    const listen = (event: MessageEvent) => {
      if (event.source !== null && event.source === frame.current?.contentWindow) hear(event.data);
    };
    window.addEventListener('message', listen);
    return () => window.removeEventListener('message', listen);
  }, [id, args, result]);

  return (
    <>
      <iframe
        ref={frame}
        title={t.frame}
        src="app-frame.html"
        sandbox="allow-scripts"
        referrerPolicy="no-referrer"
        height={height}
        className="w-full rounded-md border bg-white"
        onLoad={() => {
          if (sent.current) return; // the second load is the app itself, written into the frame
          sent.current = true;
          frame.current?.contentWindow?.postMessage(html, '*');
        }}
      />
      {made.length > 0 && (
        <p className="mt-2 text-sm text-ink2" aria-live="polite">
          {t.calls}{' '}
          {made.map((one, n) => (
            <span key={one.id}>
              {n > 0 && ', '}
              <Link
                to="/calls/$id"
                params={{ id: one.id }}
                className="text-accent underline-offset-2 hover:underline"
              >
                {escapeControlCharacters(cut(one.tool, 60))}
              </Link>
            </span>
          ))}
        </p>
      )}
    </>
  );
}
