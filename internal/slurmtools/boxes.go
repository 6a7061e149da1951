package slurmtools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/musterhq/muster/internal/core/spec"
	"github.com/musterhq/muster/internal/mpi"
)

// openBoxes makes the step's containers, one on each of its nodes, in which all of its
// processes there run. Each is box by a process that ends when it is told so, or when
// srun does: with it and what runs there the container is gone, mounts and all.
func (s *step) openBoxes(ctx context.Context) (closeAll func(), err error) {
	if s.image == nil {
		return func() {}, nil
	}
	mounts, err := s.o.container.boxMounts()
	if err != nil {
		return func() {}, err
	}
	s.boxes = map[int]made{}
	var ends []func()
	closeAll = func() {
		for _, end := range ends {
			end()
		}
	}
	for _, r := range s.ranks {
		if _, has := s.boxes[r.at]; has {
			continue
		}
		h := box{Image: *s.image, Mounts: mounts, Dir: filepath.Join(s.boxDir, fmt.Sprintf("step-%d@%d", s.id, r.at))}
		if s.o.container.name != "" {
			h.Dir = filepath.Join(s.boxDir, fmt.Sprintf("%s@%d", s.o.container.name, r.at))
		}
		m, end, err := s.openBox(ctx, r, h)
		if end != nil {
			ends = append(ends, end)
		}
		if err != nil {
			return closeAll, fmt.Errorf("the container on %s: %w", r.host, err)
		}
		s.boxes[r.at] = m
	}
	return closeAll, nil
}

// openBox starts the holder of one container and waits until it is made.
func (s *step) openBox(ctx context.Context, r rank, h box) (m made, end func(), err error) {
	text, err := h.encoded()
	if err != nil {
		return m, nil, err
	}
	in, stop, err := os.Pipe()
	if err != nil {
		return m, nil, err
	}
	says, out := io.Pipe()
	var errs bytes.Buffer
	var wg sync.WaitGroup
	wg.Go(func() {
		var err error
		if r.at > 0 {
			_, err = mpi.Run(ctx, r.host, "exec "+spec.ShellWords(s.self, HoldArg, text), in, out, &errs)
		} else {
			cmd := exec.CommandContext(ctx, s.self, HoldArg, text)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &errs
			err = cmd.Run()
		}
		_ = in.Close()
		_ = out.CloseWithError(errors.Join(io.EOF, err))
	})
	end = func() {
		_ = stop.Close()
		go func() { _, _ = io.Copy(io.Discard, says) }()
		wg.Wait()
		if s.o.container.name == "" {
			_ = os.RemoveAll(h.Dir)
		}
	}
	line, rerr := bufio.NewReader(says).ReadString('\n')
	if rerr != nil {
		_ = stop.Close()
		wg.Wait()
		text := strings.TrimSpace(errs.String())
		if text == "" {
			text = rerr.Error()
		}
		return m, end, errors.New(text)
	}
	return m, end, json.Unmarshal([]byte(line), &m)
}
