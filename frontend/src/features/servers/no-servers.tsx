import { useSuspenseQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Plus, Server, Sparkles, Store } from 'lucide-react';
import { buttonClasses } from '@/components/button';
import { CopyField } from '@/components/copy-button';
import { Empty } from '@/components/page';
import { statusQuery } from '@/lib/status-query';
import { texts } from '@/lib/texts';

const words = {
  emptyTitle: 'No servers are configured',
};

const example = `{
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/me"]
    }
  }
}`;

/** The empty state of the list of servers. */
export function NoServers() {
  const { data: status } = useSuspenseQuery(statusQuery);
  const { reason = words.emptyTitle, fix } = status.idle ?? {};
  if (reason !== words.emptyTitle) return <Empty icon={Server} title={reason}>{`${fix}.`}</Empty>;
  return (
    <Empty icon={Server} title={reason}>
      <p>
        Drawbridge runs your MCP servers and shares them with all your AI applications. Import the
        servers they already use, browse servers to install, or paste a snippet from a README.
      </p>
      <div className="mt-4 flex flex-wrap justify-center gap-2">
        <Link to="/welcome" className={buttonClasses('primary')}>
          <Sparkles className="size-4" aria-hidden />
          {texts.welcome.title}
        </Link>
        <Link to="/directory" className={buttonClasses()}>
          <Store className="size-4" aria-hidden />
          {texts.directory.openDirectory}
        </Link>
        <Link to="/add" className={buttonClasses()}>
          <Plus className="size-4" aria-hidden />
          {texts.add.button}
        </Link>
      </div>
      <details className="mt-8 text-left">
        <summary className="mx-auto w-fit cursor-pointer rounded px-1 text-center text-sm text-ink3 hover:text-ink2">
          Or edit the configuration file
        </summary>
        <p className="mt-3 mb-3 text-sm">Servers in this file appear here within a second.</p>
        <CopyField text={example} label="Configuration entry" />
        {status.configPath && (
          <div className="mt-3">
            <CopyField titled text={status.configPath} label="Configuration file" />
          </div>
        )}
      </details>
    </Empty>
  );
}
