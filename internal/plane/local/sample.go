//go:build linux

package local

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/internal/plane"
)

// fakeIdle is the share of one core below which a fake GPU counts as idle: it
// is as busy as the processes of the task that holds it.
const fakeIdle = 0.01

// clockTick is the length of the ticks in /proc/PID/stat: USER_HZ is 100 on
// every architecture that Go runs on.
const clockTick = 10 * time.Millisecond

// usedAt is the processor time that the processes of a task had used at a time.
type usedAt struct {
	at   time.Time
	used time.Duration
}

// Sample implements plane.Sampler. Real GPUs are asked through nvidia-smi.
func (p *Plane) Sample(ctx context.Context) ([]plane.Sample, error) {
	held, err := p.holders(ctx)
	if err != nil || len(held) == 0 {
		return nil, err
	}
	busy, err := utilization(ctx, held)
	if err != nil {
		return nil, err
	}
	now, used := time.Now(), usedByTask()
	p.sampling.Lock()
	defer p.sampling.Unlock()
	before := p.sampled
	p.sampled = map[string]usedAt{}
	var out []plane.Sample
	for _, a := range held {
		s, known := plane.Sample{Task: a.ID}, true
		for _, d := range a.Devices {
			if !strings.HasPrefix(d.Device, fakePrefix) {
				s.Busy = max(s.Busy, busy[d.Device])
				continue
			}
			dir := p.task(a.ID)
			last, seen := before[dir]
			p.sampled[dir] = usedAt{now, used[dir]}
			known = known && seen
			if share := float64(used[dir]-last.used) / float64(now.Sub(last.at)+1); seen && (share >= fakeIdle || share < 0) {
				s.Busy = max(s.Busy, min(max(share, fakeIdle), 1)) // less than before: a process that had used some has ended
			}
		}
		if known {
			out = append(out, s)
		}
	}
	return out, nil
}

// holders are the running tasks that hold devices.
func (p *Plane) holders(ctx context.Context) ([]plane.Assignment, error) {
	seen, err := p.Observe(ctx)
	if err != nil {
		return nil, err
	}
	var out []plane.Assignment
	for _, o := range seen {
		if o.State.Ended() {
			continue
		}
		var a assigned
		if ok, err := readRecord(p.task(o.ID), assignmentRecord, &a); err != nil && !errors.Is(err, os.ErrNotExist) || !ok {
			continue // it is being made or removed
		}
		if len(a.Assignment.Devices) > 0 {
			out = append(out, a.Assignment)
		}
	}
	return out, nil
}

// usedByTask is the processor time of all living processes by the task that
// their environment names, with that of children that they have waited for.
func usedByTask() map[string]time.Duration {
	all := map[string]time.Duration{}
	for _, pr := range allProcesses() {
		if pr.dir == "" {
			continue
		}
		data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pr.pid), "stat"))
		if err != nil {
			continue
		}
		f := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		if len(f) < 15 {
			continue
		}
		for _, text := range f[11:15] { // utime, stime, cutime, cstime
			ticks, _ := strconv.ParseInt(text, 10, 64)
			all[pr.dir] += time.Duration(ticks) * clockTick
		}
	}
	return all
}

// utilization is how busy each real device is, by UUID, 0 to 1.
func utilization(ctx context.Context, held []plane.Assignment) (map[string]float64, error) {
	real := false
	for _, a := range held {
		for _, d := range a.Devices {
			real = real || !strings.HasPrefix(d.Device, fakePrefix)
		}
	}
	if !real {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, gpuTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "nvidia-smi", "--query-gpu=uuid,utilization.gpu", "--format=csv,noheader,nounits")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("the GPUs cannot be sampled: %w", err)
	}
	return parseUtilization(string(out))
}

func parseUtilization(text string) (map[string]float64, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.TrimLeadingSpace = true
	r.FieldsPerRecord = 2
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("nvidia-smi: lines are not uuid, utilization: %w", err)
	}
	busy := map[string]float64{}
	for _, row := range rows {
		percent, err := strconv.ParseFloat(strings.TrimSpace(row[1]), 64)
		if err != nil {
			percent = 100 // a GPU that does not say is not called idle
		}
		busy[strings.TrimSpace(row[0])] = percent / 100
	}
	return busy, nil
}
