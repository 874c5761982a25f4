import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

interface Schema {
  properties?: Record<string, unknown>;
}

const read = (path: string) => readFileSync(join(import.meta.dirname, path), 'utf8');
const schemas: Record<string, Schema> = JSON.parse(
  read('../../../backend/api/testdata/openapi.json'),
).components.schemas;
const source = [
  'api.ts',
  'history.ts',
  'servers.ts',
  'connect.ts',
  'policy.ts',
  'remotes.ts',
  'checks.ts',
  'profiles.ts',
  'directory.ts',
  'sharing.ts',
]
  .map(read)
  .join('\n');

/** The fields that an interface of ours declares itself, and those it inherits. */
function fieldsOf(name: string): string[] {
  const found = new RegExp(
    `export interface ${name}(?: extends (\\w+))? \\{([\\s\\S]*?)\\n\\}`,
  ).exec(source);
  if (!found) throw new Error(`no interface ${name} in api.ts`);
  const own = [...(found[2] ?? '').matchAll(/^ {2}(\w+)\??:/gm)].map((match) => match[1] ?? '');
  return [...(found[1] ? fieldsOf(found[1]) : []), ...own];
}

/** Our name and the daemon's, where they differ. */
const pairs: [string, string][] = [
  ['Profile', 'Profile'],
  ['ClientView', 'ClientView'],
  ['Modes', 'Modes'],
  ['Status', 'Status'],
  ['ServerStatus', 'ServerStatus'],
  ['ServerDetail', 'ServerDetail'],
  ['Call', 'Call'],
  ['CallDetail', 'CallDetail'],
  ['Tool', 'Tool'],
  ['TakeoverPlan', 'TakeoverPlan'],
  ['TakeoverClient', 'TakeoverClient'],
  ['TakeoverSkip', 'TakeoverSkip'],
  ['TakeoverResult', 'TakeoverResult'],
  ['TakeoverUndone', 'TakeoverUndone'],
  ['Client', 'Client'],
  ['ConfigFile', 'ConfigFile'],
  ['Problem', 'Problem'],
  ['Notice', 'Notice'],
  ['RecorderStatus', 'RecorderStatus'],
  ['Usage', 'Usage'],
  ['LogLine', 'Line'],
  ['ProcessUsage', 'Proc'],
  ['Cut', 'Cut'],
  ['Instance', 'Instance'],
  ['Connection', 'Connection'],
  ['ConnectionPlan', 'ConnectionPlan'],
  ['Question', 'Question'],
  ['Snapshot', 'Snapshot'],
  ['Facet', 'Facet'],
  ['Facets', 'Facets'],
  ['Session', 'Session'],
  ['Use', 'Use'],
  ['UsageReport', 'UsageReport'],
  ['Rule', 'Rule'],
  ['Recording', 'Recording'],
  ['HistoryState', 'HistoryState'],
  ['Note', 'Note'],
  ['RetentionPreview', 'RetentionPreview'],
  ['Frame', 'Frame'],
  ['Timings', 'Timings'],
  ['CallQuestion', 'Question'],
  ['CommandQuestion', 'Question'],
  ['LiveConnection', 'Connection'],
  ['ImportableServer', 'ImportableServer'],
  ['Explanation', 'Explanation'],
  ['ToolSetting', 'ToolSetting'],
  ['Grant', 'Grant'],
  ['TestResult', 'TestResult'],
  ['Container', 'Container'],
  ['SavedCheck', 'SavedCheck'],
  ['CheckStep', 'Step'],
  ['Expect', 'Expect'],
  ['LastRun', 'LastRun'],
  ['CheckReport', 'CheckReport'],
  ['StepReport', 'StepReport'],
  ['Change', 'Change'],
  ['Field', 'Field'],
  ['InstallOption', 'InstallOption'],
  ['Installable', 'Installable'],
  ['Directory', 'Directory'],
  ['About', 'About'],
  ['Installation', 'Installation'],
  ['Upload', 'Upload'],
  ['SharedServer', 'SharedServer'],
  ['SharedProfile', 'SharedProfile'],
  ['SharedImport', 'SharedImport'],
  ['ConfigCopy', 'ConfigCopy'],
  ['ConfigCopyText', 'ConfigCopyText'],
  ['RestoredConfig', 'RestoredConfig'],
];

describe('the types of the page and the document of the daemon', () => {
  it.each(pairs)('%s holds only what %s has', (ours, theirs) => {
    const known = Object.keys(schemas[theirs]?.properties ?? {});
    expect(known.length, `schema ${theirs}`).toBeGreaterThan(0);
    expect(fieldsOf(ours).filter((field) => !known.includes(field))).toEqual([]);
  });
});
