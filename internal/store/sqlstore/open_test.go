package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/musterhq/muster/internal/core"
	"github.com/musterhq/muster/internal/core/lifecycle"
	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/store"
)

func job(seq int64, edit ...func(*core.Workload)) *core.Workload {
	at := time.UnixMicro(1_700_000_000_000_000 + seq).UTC()
	w := &core.Workload{
		ID: core.WorkloadID("w" + time.UnixMicro(seq).UTC().Format("20060102150405.000000")), Seq: seq,
		Name: "job-" + time.UnixMicro(seq).UTC().Format("150405.000000"), Project: "default", Kind: lifecycle.Training,
		User: "ada", Spec: &spec.Document{Image: "i"}, State: lifecycle.State{Phase: lifecycle.Queued}, Version: 1, CreatedAt: at,
	}
	for _, e := range edit {
		e(w)
	}
	return w
}

func mustOpen(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(context.Background(), path)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustAcquire(t testing.TB, s *Store) store.Term {
	t.Helper()
	term, err := s.Acquire(context.Background(), "a test")
	if err != nil {
		t.Fatal(err)
	}
	return term
}

func mustCommit(t testing.TB, s *Store, term store.Term, b *store.Batch) {
	t.Helper()
	if _, err := s.Commit(context.Background(), term, b); err != nil {
		t.Fatalf("Commit: %v", err)
	}
}

// filled makes a closed database of a few pages.
func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "muster.db")
	s := mustOpen(t, path)
	b := new(store.Batch)
	for i := range int64(300) {
		b.Workloads = append(b.Workloads, job(i+1))
	}
	mustCommit(t, s, mustAcquire(t, s), b)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// refuses opens path, which must fail with want, name the path and the words,
// and leave every file as it is.
func refuses(t *testing.T, path string, want error, words ...string) {
	t.Helper()
	before := files(t, filepath.Dir(path))
	s, err := Open(t.Context(), path)
	if err == nil {
		s.Close()
		t.Fatalf("Open succeeded, want %v", want)
	}
	if !errors.Is(err, want) {
		t.Errorf("Open: %v; want %v", err, want)
	}
	for _, word := range append(words, path) {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
	after := files(t, filepath.Dir(path))
	for name, data := range before {
		if !bytes.Equal(after[name], data) {
			t.Errorf("Open changed %s", name)
		}
	}
}

// files reads the folder, but for the index of the log, which is no record.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "-shm") || e.IsDir() {
			continue
		}
		if all[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// change runs SQL on a closed database behind the store's back.
func change(t *testing.T, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(text); err != nil {
		t.Fatal(err)
	}
}

func overwrite(t *testing.T, path string, offset int64, data []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(data, offset); err != nil {
		t.Fatal(err)
	}
}

func TestNewDatabaseIsPrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b ?#%20ü")
	path := filepath.Join(dir, "muster.db")
	s := mustOpen(t, path)
	mustCommit(t, s, mustAcquire(t, s), &store.Batch{Workloads: []*core.Workload{job(1)}})
	for name, want := range map[string]os.FileMode{dir: 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", filepath.Base(name), got, want)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) != 1 {
		t.Errorf("something was made beside the folder: %v, %v", entries, err)
	}
}

func TestEmptyFileIsANewDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "muster.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, path)
	mustCommit(t, s, mustAcquire(t, s), &store.Batch{Workloads: []*core.Workload{job(1)}})
}

// TestHalfMadeDatabaseIsFinished opens what a crash leaves between making the
// file and the first migration.
func TestHalfMadeDatabaseIsFinished(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "muster.db")
	change(t, path, "PRAGMA journal_mode = WAL")
	s := mustOpen(t, path)
	mustCommit(t, s, mustAcquire(t, s), &store.Batch{Workloads: []*core.Workload{job(1)}})
}

func TestNewerDatabaseIsLeftAlone(t *testing.T) {
	t.Parallel()
	path := filled(t)
	change(t, path, "PRAGMA user_version = 4711")
	refuses(t, path, store.ErrNewer, "4711", "later")
}

// TestNewerDatabaseWithALogIsLeftAlone: the number stands in a log that a
// killed process has left and nobody may fold in.
func TestNewerDatabaseWithALogIsLeftAlone(t *testing.T) {
	t.Parallel()
	path := filled(t)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("PRAGMA user_version = 4711"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	copied := filepath.Join(dir, "muster.db")
	for name, data := range files(t, filepath.Dir(path)) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(copied + "-wal"); err != nil || info.Size() == 0 {
		t.Fatalf("the test has no log: %v", err)
	}
	refuses(t, copied, store.ErrNewer, "4711")
}

func TestDamagedDatabaseIsLeftAlone(t *testing.T) {
	t.Parallel()
	garbage := bytes.Repeat([]byte{0xA5}, 4096)
	t.Run("text", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "muster.db")
		if err := os.WriteFile(path, []byte("a: 1\nb: 2\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		refuses(t, path, store.ErrCorrupt, "backup")
	})
	t.Run("header", func(t *testing.T) {
		t.Parallel()
		path := filled(t)
		overwrite(t, path, 0, garbage[:100])
		refuses(t, path, store.ErrCorrupt, "backup")
	})
	t.Run("page", func(t *testing.T) {
		t.Parallel()
		path := filled(t)
		overwrite(t, path, 4096*20, garbage)
		refuses(t, path, store.ErrCorrupt, "backup")
	})
	t.Run("cut off", func(t *testing.T) {
		t.Parallel()
		path := filled(t)
		if err := os.Truncate(path, 4096*10); err != nil {
			t.Fatal(err)
		}
		refuses(t, path, store.ErrCorrupt, "backup")
	})
	t.Run("cut off in a page", func(t *testing.T) {
		t.Parallel()
		path := filled(t)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, info.Size()-100); err != nil {
			t.Fatal(err)
		}
		refuses(t, path, store.ErrCorrupt, "its end is missing")
	})
	t.Run("emptied beside its log", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "muster.db")
		if err := os.WriteFile(path+"-wal", garbage, 0o600); err != nil {
			t.Fatal(err)
		}
		refuses(t, path, store.ErrCorrupt, "backup")
	})
	t.Run("of another program", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "muster.db")
		change(t, path, "CREATE TABLE theirs (a)")
		refuses(t, path, store.ErrCorrupt, "another program")
	})
}

func TestPathThatIsAFolderIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Open(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "name a file") {
		t.Errorf("Open of a folder: %v", err)
	}
}

// TestMigrationsAreRunOnce opens at the same time a database that does not exist.
func TestMigrationsAreRunOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "muster.db")
	results := make(chan error, 8)
	for range cap(results) {
		go func() {
			s, err := Open(context.Background(), path)
			if err == nil {
				_, err = s.Acquire(context.Background(), "one of many")
				err = errors.Join(err, s.Close())
			}
			results <- err
		}()
	}
	for range cap(results) {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	s := mustOpen(t, path)
	if term := mustAcquire(t, s); term != store.Term(cap(results))+1 {
		t.Errorf("the term is %d after %d acquisitions", term, cap(results))
	}
}

// TestCloseFoldsTheLogIn: a backup of a stopped server is one file.
func TestCloseFoldsTheLogIn(t *testing.T) {
	t.Parallel()
	path := filled(t)
	if all := files(t, filepath.Dir(path)); len(all) != 1 {
		t.Errorf("%d files are left, want 1", len(all))
	}
}
