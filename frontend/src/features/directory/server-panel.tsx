import { Check } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { CopyField } from '@/components/copy-button';
import { Facts, Section } from '@/components/fields';
import { SegmentedControl } from '@/components/segmented-control';
import { DetailFrame } from '@/components/split-view';
import { escapeControlCharacters } from '@/lib/format';
import { texts } from '@/lib/texts';
import type { Installable } from '@/types/api';
import { InstallForm } from './install-form';
import { Note } from './note';
import { accessOf, kindOf, publisher, titleOf } from './server-labels';

/** One server of the directory: its publisher, how it runs, its access, and its installation. */
export function ServerPanel({
  item,
  taken,
  installed,
  link,
  onClose,
}: {
  item: Installable;
  taken: (label: string) => boolean;
  installed: (id: string) => ReactNode;
  /** A link to an installed server. */
  link: (id: string) => ReactNode;
  onClose: () => void;
}) {
  const [at, setAt] = useState(0);
  const [done, setDone] = useState(false);
  const way = item.options[at];
  return (
    <DetailFrame
      id={item.name}
      title={escapeControlCharacters(titleOf(item).slice(0, 200))}
      meta={escapeControlCharacters(item.description.slice(0, 2000))}
      onClose={onClose}
    >
      {item.refused !== '' && (
        <Section title="Cannot be installed">
          <Note tone="warn">{escapeControlCharacters(item.refused)}</Note>
          <p className="mt-2 text-sm text-ink2">
            This entry could do more than run its package, so Drawbridge does not install it. If you
            trust it, add it manually.
          </p>
        </Section>
      )}
      {item.installed.length > 0 && !done && (
        <Section title="Already installed">
          <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm">
            <Check className="size-4 text-ok" aria-hidden />
            {item.installed.slice(0, 20).map((id) => (
              <span key={id}>{link(id)}</span>
            ))}
            {item.installed.length > 20 && texts.more(item.installed.length - 20)}
          </p>
        </Section>
      )}
      {way && !done && (
        <Section
          title="Access"
          aside={
            item.options.length > 1 && (
              <SegmentedControl
                label="Install from"
                value={String(at)}
                options={item.options.slice(0, 6).map((one, index) => ({
                  value: String(index),
                  text: kindOf(one),
                }))}
                onChange={(value) => setAt(Number(value))}
              />
            )
          }
        >
          <ul className="list-disc space-y-1 pl-5 text-sm text-ink2 [overflow-wrap:anywhere]">
            {accessOf(way).map((said) => (
              <li key={said}>{escapeControlCharacters(said)}</li>
            ))}
          </ul>
          {way.command.length > 0 && (
            <div className="mt-3">
              <CopyField
                titled
                text={escapeControlCharacters(way.command.join(' '))}
                label="Command"
              />
            </div>
          )}
        </Section>
      )}
      {way && (
        <InstallForm
          key={`${item.name} ${at}`}
          order={{ name: item.name, option: at }}
          label={item.label}
          fields={way.fields}
          taken={taken}
          installed={installed}
          onInstalled={() => setDone(true)}
        />
      )}
      <Section title="About">
        <Facts
          rows={[
            ['Publisher', escapeControlCharacters(publisher(item.name))],
            ['Registry name', <code key="n">{escapeControlCharacters(item.name)}</code>],
            ['Registry version', escapeControlCharacters(item.version.slice(0, 100))],
            ['Source', item.curated ? 'built-in list' : 'from the registry, not reviewed'],
          ]}
        />
        <div className="mt-3 space-y-2">
          {[item.repository, item.website]
            .filter((address, index, all) => address !== '' && all.indexOf(address) === index)
            .map((address) => (
              <CopyField
                key={address}
                titled
                text={escapeControlCharacters(address.slice(0, 500))}
                label={address === item.repository ? 'Source code' : 'Website'}
              />
            ))}
        </div>
        <p className="mt-2 text-xs text-ink3">Provided by the publisher, not verified.</p>
      </Section>
    </DetailFrame>
  );
}
