// Writes embedded.ts: every dashboard as a literal of the type File. An imported JSON file would lose its literal types.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.env.DASHBOARDS ?? '../dashboards';
const files = readdirSync(folder).filter((name) => name.endsWith('.json')).sort();
const parts = files.map((name, place) => `// ${name}\nexport const dashboard${place}: File = ${readFileSync(join(folder, name), 'utf8')};`);
writeFileSync('embedded.ts', [`import type { File } from './types';`, ...parts].join('\n'));
