import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Returns a function that imports packages from the node_modules of a folder,
 * which need not be one above this file.
 */
export function packagesOf(folder) {
  const { resolve } = createRequire(join(folder, 'node_modules', 'any.js'));
  return (name) => import(pathToFileURL(resolve(name)));
}
