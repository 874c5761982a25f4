import { useQuery } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import { useState } from 'react';
import { Button } from '@/components/button';
import { Failure } from '@/components/failure';
import { Facts } from '@/components/fields';
import { JsonView } from '@/components/json-view';
import { plain } from '@/lib/format';
import { saveText } from '@/lib/save';
import { texts } from '@/lib/texts';
import { ConfigCopies } from './config-copies';
import { type Export, exportQuery } from './sharing-api';
import { TakeShared } from './take-shared';

const t = texts.sharing;

/** Giving servers to others, taking theirs, and copies of the configuration. */
export function SharingPanel() {
  return (
    <div className="space-y-6">
      <Give />
      <TakeShared />
      <ConfigCopies />
    </div>
  );
}

function Give() {
  const [open, setOpen] = useState(false);
  const { data, error } = useQuery({ ...exportQuery, enabled: open });
  return (
    <div>
      <h3 className="text-sm font-semibold">{t.exportTitle}</h3>
      <p className="mb-2 text-sm text-ink2">{t.exportBody}</p>
      <Button aria-expanded={open} onClick={() => setOpen((on) => !on)}>
        {open ? t.hide : t.look}
      </Button>
      {open && error && <Failure error={error} className="mt-2" />}
      {open && data && <Content content={data} />}
    </div>
  );
}

function Content({ content: { text, servers, profiles, missingSecrets } }: { content: Export }) {
  if (servers.length + profiles.length === 0)
    return <p className="mt-3 text-sm text-ink2">{t.nothing}</p>;
  const list = (names: string[]) =>
    names.length > 0 ? names.map((name) => plain(name.slice(0, 100))).join(', ') : t.none;
  return (
    <div className="mt-3 space-y-3">
      <Facts
        rows={[
          [t.servers, list(servers)],
          [t.profiles, list(profiles)],
          [t.needs, list(missingSecrets)],
        ]}
      />
      <JsonView text={text} label={t.content} />
      <Button look="primary" onClick={() => saveText(text, t.fileName)}>
        <Download className="size-4" aria-hidden />
        {t.download}
      </Button>
    </div>
  );
}
