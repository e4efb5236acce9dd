-- Version 1 of the store. Applied with PRAGMA user_version by src/cache/schema.cpp; a change is a new file.
--
-- Rowid tables throughout: a 100 KB blob in a WITHOUT ROWID table is rewritten whenever its page splits.

-- One compiled kernel. `digest` is XXH3-128 over the uncompressed bytes and every column that a look-up
-- returns, so a damaged row is a miss. Short columns first: a listing must not walk the blobs' pages.
CREATE TABLE kernels (
  id INTEGER PRIMARY KEY,
  key BLOB NOT NULL,
  compiler TEXT NOT NULL,
  digest BLOB NOT NULL,
  raw_bytes INTEGER NOT NULL,
  stored_bytes INTEGER NOT NULL,
  created INTEGER NOT NULL,
  last_used INTEGER NOT NULL,
  hits INTEGER NOT NULL DEFAULT 0,
  compile_ms REAL NOT NULL,
  format TEXT NOT NULL,
  entry TEXT NOT NULL,
  target TEXT NOT NULL,
  family TEXT NOT NULL,
  problem TEXT NOT NULL,
  config TEXT NOT NULL,
  resources TEXT NOT NULL,
  log TEXT NOT NULL,
  bytes BLOB NOT NULL,
  UNIQUE (key, compiler)
);
CREATE INDEX kernels_by_last_used ON kernels (last_used);

-- One measured decision. `digest` covers every other column but `id`.
CREATE TABLE tunings (
  id INTEGER PRIMARY KEY,
  device TEXT NOT NULL,
  problem TEXT NOT NULL,
  shape_bucket TEXT NOT NULL,
  digest BLOB NOT NULL,
  family TEXT NOT NULL,
  config TEXT NOT NULL,
  median_us REAL NOT NULL,
  spread_us REAL NOT NULL,
  runner_up TEXT NOT NULL,
  runner_up_us REAL NOT NULL,
  samples INTEGER NOT NULL,
  library_version TEXT NOT NULL,
  driver_version TEXT NOT NULL,
  UNIQUE (device, problem, shape_bucket)
);

-- Who compiles what right now. `host` names a pid namespace of one boot, `started` the process's start
-- in clock ticks (pids are reused), `token` the lease, `expires` is unix milliseconds.
CREATE TABLE leases (
  id INTEGER PRIMARY KEY,
  key BLOB NOT NULL,
  compiler TEXT NOT NULL,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  started INTEGER NOT NULL,
  token INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  UNIQUE (key, compiler)
);

-- Sums that outlive the rows: 'compiles' put, 'hits' served.
CREATE TABLE counters (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  value INTEGER NOT NULL
);
