package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/store/sqlstore"
)

// salvage looks for records of a database that cannot be read and, if take is
// set, moves them into a file beside it. No server may be there.
func salvage(ctx context.Context, dir string, take bool) (cli.Salvaged, error) {
	var out cli.Salvaged
	path := filepath.Join(dir, "muster.db")
	if _, err := os.Stat(path); err != nil {
		what := err.Error()
		if errors.Is(err, os.ErrNotExist) {
			what = fmt.Sprintf("%s has no muster.db", dir)
		}
		return out, precondition("there is no database: "+what, "name the data directory of the server with --data-dir")
	}
	lock, err := lockDir(dir)
	if err != nil {
		return out, err
	}
	defer lock.Close()
	if err := refuseEmptied(dir); err != nil {
		return out, err
	}
	var keep func([]sqlstore.Unreadable) error
	if take {
		keep = func(all []sqlstore.Unreadable) (err error) {
			out.File, err = setAside(filepath.Join(dir, "unreadable"), all)
			return err
		}
	}
	found, err := sqlstore.Salvage(ctx, path, keep)
	for _, u := range found {
		out.Records = append(out.Records, cli.SalvagedRecord{What: u.What, Why: u.Why})
	}
	return out, err
}

// setAside writes records into a new file that survives loss of power.
func setAside(dir string, all []sqlstore.Unreadable) (string, error) {
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.OpenFile(filepath.Join(dir, time.Now().UTC().Format("20060102T150405.000000Z")+".json"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.Write(append(text, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", err
	}
	d, err := os.Open(dir)
	if err != nil {
		return "", err
	}
	return f.Name(), errors.Join(d.Sync(), d.Close())
}
