package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/musterhq/muster/api"
	"github.com/musterhq/muster/internal/backend/local"
	"github.com/musterhq/muster/internal/cli"
	"github.com/musterhq/muster/internal/handover"
	"github.com/musterhq/muster/internal/program"
	"github.com/musterhq/muster/internal/store/sqlstore"
)

// move takes the records in a data directory to a server that awaits them. It holds
// the directory's lock, so that no server is there meanwhile, and marks the directory
// before the first byte leaves, so that none is there afterwards.
func move(ctx context.Context, o cli.MoveOptions) (handover.Report, error) {
	dir := o.DataDir
	if empty, err := handover.Empty(dir); err != nil || empty {
		return handover.Report{}, errors.Join(err, precondition(fmt.Sprintf("%s has no %s: there is nothing to move", dir, handover.Database), "name the data directory of the server with --data-dir"))
	}
	lock, err := lockDir(dir)
	if err != nil {
		return handover.Report{}, err
	}
	defer lock.Close()
	left, err := handover.LeftOf(dir)
	if err != nil {
		return handover.Report{}, err
	}
	if o.TakeBack {
		return handover.Report{}, takeBack(ctx, o, left)
	}
	if left != nil && left.Complete && left.To != o.To.Address() {
		return handover.Report{}, precondition(fmt.Sprintf("the records of %s were moved to %s at %s", dir, left.To, left.At.Format(time.RFC3339)), "move them on from there; or muster server move --take-back, if that server is gone")
	}
	if left != nil && !left.Complete && left.To != o.To.Address() { // else two servers could have them
		return handover.Report{}, refuseMoved(dir)
	}
	r, err := recorded(ctx, dir)
	if err != nil {
		return r, err
	}
	r.From, r.To, r.DryRun = dir, o.To.Address(), o.DryRun
	if left != nil && left.Complete && left.ID == r.ID {
		r.Moved, r.At = true, left.At
		return r, nil
	}
	there, err := o.To.Server(ctx)
	if err != nil {
		return r, err
	}
	if there.Moved != nil && there.Moved.ID == r.ID { // all that was missing is our knowing it
		r.Moved, r.At = true, time.Time(there.Moved.At)
		return r, markLeft(r, o.DryRun)
	}
	if err := fits(r, there); err != nil || o.DryRun {
		return r, err
	}
	if len(r.Blocks) > 0 {
		return r, precondition(fmt.Sprintf("%s, and cannot be moved with its processes", blocked(r.Blocks)), "do what stands there, muster server stop, and move then")
	}
	return hand(ctx, o, r)
}

// recorded reads the records without a server.
func recorded(ctx context.Context, dir string) (handover.Report, error) {
	path := filepath.Join(dir, handover.Database)
	if err := refuseEmptied(dir); err != nil {
		return handover.Report{}, err
	}
	format, err := sqlstore.Format(ctx, path)
	if err != nil {
		return handover.Report{}, err
	}
	newest, err := sqlstore.Newest()
	if err != nil {
		return handover.Report{}, err
	}
	if format < newest {
		return handover.Report{}, precondition(fmt.Sprintf("%s has the format %d, and this program's is %d", path, format, newest), "back it up, start a server with this program once, stop that, and move then")
	}
	st, err := openStore(ctx, path)
	if err != nil {
		return handover.Report{}, err
	}
	r, err := handover.Examine(ctx, st, string(local.NodeName()))
	if err = errors.Join(err, st.Close()); err != nil {
		return r, err
	}
	if wal, err := os.Stat(path + "-wal"); err == nil && wal.Size() > 0 {
		return r, precondition(path+" is in use by another program: its log is not folded in", "end what reads it, and move then")
	}
	if _, err := os.Stat(filepath.Join(dir, vaultFile)); err == nil {
		r.Look = append(r.Look, handover.Concern{What: "secrets", Why: "their keys are kept elsewhere, in a vault or a file", Fix: "start the other server with --secrets-vault or --secrets-key-file, and let it reach them"})
	}
	r.Format = format
	if r.ID, err = handover.Identify(dir); err == nil {
		r.Bytes, err = handover.Size(dir)
	}
	return r, err
}

// fits refuses a server that does not await these records, or could not read them.
func fits(r handover.Report, there *api.ServerStatus) error {
	switch {
	case !there.AwaitsMove && there.Moved != nil && there.Installation == r.Installation:
		return precondition(fmt.Sprintf("the server at %s has these records as they were at %s; since then they have changed here", r.To, time.Time(there.Moved.At).Format(time.RFC3339)),
			"go on with that server; or end it, empty its data directory, start it with --await-move, and move again")
	case !there.AwaitsMove:
		return precondition(fmt.Sprintf("the server at %s (%s) has records of its own, and nothing is merged", r.To, there.Version),
			"move to one with an empty data directory, started with --await-move")
	case there.Format < r.Format:
		return precondition(fmt.Sprintf("the server at %s is older (%s, which reads databases up to format %d; these have %d)", r.To, there.Version, there.Format, r.Format),
			"use this version of muster there too, or a later one")
	}
	return nil
}

// blocked are the first of what is in the way.
func blocked(all []handover.Concern) string {
	text := all[0].What
	if len(all) > 1 {
		text += fmt.Sprintf(" and %d more", len(all)-1)
	}
	if len(all) == 1 {
		return text + " runs on this machine"
	}
	return text + " run on this machine"
}

func markLeft(r handover.Report, dry bool) error {
	if dry {
		return nil
	}
	return handover.MarkLeft(r.From, handover.Left{To: r.To, ID: r.ID, At: r.At, Complete: true})
}

// hand sends the records.
func hand(ctx context.Context, o cli.MoveOptions, r handover.Report) (handover.Report, error) {
	r.At = time.Now().UTC().Truncate(time.Second)
	host, _ := os.Hostname() // for those who read it
	m := handover.Manifest{Format: r.Format, Version: program.Version().Version, Installation: r.Installation, ID: r.ID, From: host, Node: string(local.NodeName()), At: r.At}
	if err := handover.MarkLeft(r.From, handover.Left{To: r.To, ID: r.ID, At: r.At}); err != nil {
		return r, err
	}
	out, in := io.Pipe()
	packed := make(chan error, 1)
	go func() {
		err := handover.Pack(in, r.From, m)
		packed <- err
		_ = in.CloseWithError(err)
	}()
	_, err := o.To.MoveIn(ctx, out)
	_ = out.CloseWithError(errors.New("the other server reads no more"))
	if broken := <-packed; err == nil && broken != nil {
		err = broken
	}
	if err == nil {
		r.Moved = true
		return r, markLeft(r, false)
	}
	var p *api.Problem
	if errors.As(err, &p) && p.Status >= 400 && p.Status < 500 { // it has nothing, for certain
		return r, errors.Join(err, handover.Unmark(r.From))
	}
	return r, precondition(fmt.Sprintf("nobody knows whether the records arrived: %v", err),
		"say the same again, which finds out and goes on; no server starts here before. muster server move --take-back gives it up")
}

// takeBack lets a server start on a directory again that was moved, or half moved.
func takeBack(ctx context.Context, o cli.MoveOptions, left *handover.Left) error {
	if left == nil {
		return nil // it is so already
	}
	if !o.Sure {
		there, err := o.To.Server(ctx)
		if err != nil {
			return precondition(fmt.Sprintf("the server at %s, which may have the records, cannot be asked: %v", left.To, err), "if it is gone for good: muster server move --take-back --yes")
		}
		if there.Moved != nil && there.Moved.ID == left.ID {
			return precondition(fmt.Sprintf("the server at %s has the records, and works on", left.To), "end it and remove its data, which loses what happened there; then muster server move --take-back --yes")
		}
	}
	return handover.Unmark(o.DataDir)
}

// refuseMoved has no server start on records that another one has, or may have.
func refuseMoved(dir string) error {
	left, err := handover.LeftOf(dir)
	if err != nil || left == nil {
		return err
	}
	if left.Complete {
		return precondition(fmt.Sprintf("what was in %s was moved to %s at %s", dir, left.To, left.At.Format(time.RFC3339)),
			"use that server: export MUSTER_SERVER="+left.To+"; to begin anew here, choose another --data-dir")
	}
	return precondition(fmt.Sprintf("what is in %s is being moved to %s, and may have arrived", dir, left.To),
		"muster server move --to "+left.To+" goes on; muster server move --take-back gives it up")
}
