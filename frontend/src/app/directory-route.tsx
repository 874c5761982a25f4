import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { PackageX } from 'lucide-react';
import { useCallback } from 'react';
import { Boundary, Loading } from '@/components/page';
import { DetailBoundary, DetailFrame, Gone, Split } from '@/components/split-view';
import { directoryQuery } from '@/features/directory/api';
import { BundlePanel } from '@/features/directory/bundle-panel';
import { DirectoryPage } from '@/features/directory/directory-page';
import { ServerPanel } from '@/features/directory/server-panel';
import { serversQuery } from '@/features/servers/api';
import { escapeControlCharacters } from '@/lib/format';
import { texts } from '@/lib/texts';
import { InstalledServer } from './installation-result';

const route = getRouteApi('/directory');

/** Browse servers: the list, one server, or a bundle from a file. */
export function DirectoryRoute() {
  const { q, kind, only, name, file } = route.useSearch();
  const navigate = route.useNavigate();
  const close = useCallback(
    () => navigate({ to: '.', search: (old) => ({ ...old, name: undefined, file: undefined }) }),
    [navigate],
  );
  const taken = useTaken();
  const installed = (id: string) => <InstalledServer id={id} />;
  return (
    <Split
      list={
        <Boundary title={texts.directory.title}>
          <DirectoryPage
            filters={{ q, kind, only }}
            selected={name}
            onFilter={(part) =>
              navigate({ to: '.', search: (old) => ({ ...old, ...part }), replace: true })
            }
          />
        </Boundary>
      }
      detail={
        file ? (
          <DetailBoundary id="" title={texts.directory.title} onClose={close}>
            <BundlePanel taken={taken} installed={installed} onClose={close} />
          </DetailBoundary>
        ) : name ? (
          <DetailBoundary
            key={name}
            id={name}
            title={escapeControlCharacters(name.slice(0, 200))}
            onClose={close}
          >
            <Chosen name={name} filters={{ q, kind, only }} taken={taken} onClose={close} />
          </DetailBoundary>
        ) : null
      }
    />
  );
}

/** The selected server: from the list that is shown, otherwise found by its name. */
function Chosen({
  name,
  filters,
  taken,
  onClose,
}: {
  name: string;
  filters: { q?: string | undefined; kind?: string | undefined; only?: string | undefined };
  taken: (label: string) => boolean;
  onClose: () => void;
}) {
  const here = useQuery(directoryQuery(filters));
  const item = here.data?.items.find((one) => one.name === name);
  const named = useQuery({
    ...directoryQuery({ q: name }),
    enabled: here.data !== undefined && item === undefined,
  });
  const found = item ?? named.data?.items.find((one) => one.name === name);
  if (found)
    return (
      <ServerPanel
        item={found}
        taken={taken}
        installed={(id) => <InstalledServer id={id} />}
        link={(id) => (
          <Link
            to="/servers/$id"
            params={{ id }}
            className="text-accent underline-offset-2 hover:underline"
          >
            {escapeControlCharacters(id)}
          </Link>
        )}
        onClose={onClose}
      />
    );
  const title = escapeControlCharacters(name.slice(0, 200));
  if (here.isFetching || named.isFetching)
    return (
      <DetailFrame id={name} title={title} onClose={onClose}>
        <Loading />
      </DetailFrame>
    );
  return (
    <Gone
      id={name}
      title={title}
      icon={PackageX}
      what="This server is no longer in the list"
      onClose={onClose}
    >
      The registry has changed.
    </Gone>
  );
}

/** Whether a server with that name exists; IDs are derived from names. */
function useTaken(): (label: string) => boolean {
  const { data: servers } = useQuery(serversQuery);
  return useCallback(
    (label: string) => {
      const id = slug(label);
      return servers?.some((server) => server.id.toLowerCase() === id) ?? false;
    },
    [servers],
  );
}

const slug = (label: string) =>
  label
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^[-_]+|[-_]+$/g, '');
