// Command train trains a small network on two half moons and shows what a
// program does to be at home under Muster: it takes its parameters from
// $PARAMETERS, prints its progress as lines, writes a checkpoint atomically
// after every epoch, and resumes from it when it is started again.
package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

//go:embed data/moons.csv
var moons []byte

func main() {
	if err := run(os.Stdout, os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

// config is what the parameters of the workload may set.
type config struct {
	Epochs int
	Hidden int
	Rate   float64
	Pause  time.Duration // after each epoch, to watch it at work
}

// checkpoint is the state after some epochs; resuming from it gives the same
// model as never having stopped.
type checkpoint struct {
	Epoch int
	Model *Model
}

func run(out io.Writer, env func(string) string) error {
	cfg, err := readConfig(env("PARAMETERS"))
	if err != nil {
		return err
	}
	samples, err := readSamples(bytes.NewReader(moons))
	if err != nil {
		return err
	}
	cut := len(samples) * 4 / 5
	training, held := samples[:cut], samples[cut:]

	// What one attempt leaves here the next one finds.
	dir := env("MUSTER_OUTPUT_DIR")
	if dir == "" {
		dir = "out"
	}
	path := filepath.Join(dir, "checkpoint.json")
	at := checkpoint{Model: NewModel(cfg.Hidden, random(0))}
	if attempt, _ := strconv.Atoi(env("RESUMPTION_INDEX")); attempt > 0 {
		saved, err := load(path)
		switch {
		case err == nil && len(saved.Model.In) == cfg.Hidden:
			at = saved
			fmt.Fprintf(out, "attempt %d: resumed after epoch %d\n", attempt, at.Epoch)
		case err == nil:
			fmt.Fprintf(out, "attempt %d: the checkpoint is of another model; starting anew\n", attempt)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	for at.Epoch < cfg.Epochs {
		at.Epoch++
		loss := at.Model.Epoch(training, cfg.Rate, random(uint64(at.Epoch)))
		fmt.Fprintf(out, "epoch=%d loss=%.4f accuracy=%.3f\n", at.Epoch, loss, at.Model.Accuracy(held))
		if err := save(path, at); err != nil {
			return err
		}
		time.Sleep(cfg.Pause)
	}
	fmt.Fprintf(out, "checkpoint=%s\naccuracy=%.2f\n", path, at.Model.Accuracy(held))
	return nil
}

// random gives each epoch a generator of its own, so that a resumed run
// shuffles as the first one would have.
func random(epoch uint64) *rand.Rand { return rand.New(rand.NewPCG(17, epoch)) }

// readConfig reads the `name: value` lines that Muster writes for this
// example's parameters. Real programs use a YAML library.
func readConfig(path string) (config, error) {
	cfg := config{Epochs: 30, Hidden: 16, Rate: 0.1}
	if path == "" {
		return cfg, nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return cfg, fmt.Errorf("read $PARAMETERS: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(raw))
	for lines.Scan() {
		name, value, ok := strings.Cut(strings.TrimSpace(lines.Text()), ":")
		if !ok {
			continue
		}
		value = strings.Trim(strings.TrimSpace(value), `"`)
		switch name {
		case "epochs":
			cfg.Epochs, err = strconv.Atoi(value)
		case "hidden":
			cfg.Hidden, err = strconv.Atoi(value)
		case "learningRate":
			cfg.Rate, err = strconv.ParseFloat(value, 64)
		case "pause":
			cfg.Pause, err = time.ParseDuration(value)
		default:
			err = errors.New("unknown; known are epochs, hidden, learningRate and pause")
		}
		if err != nil {
			return cfg, fmt.Errorf("parameter %s: %w", name, err)
		}
	}
	if cfg.Epochs < 1 || cfg.Hidden < 1 || cfg.Rate <= 0 {
		return cfg, fmt.Errorf("epochs %d, hidden %d and learningRate %g must all be more than 0", cfg.Epochs, cfg.Hidden, cfg.Rate)
	}
	return cfg, lines.Err()
}

func readSamples(r io.Reader) ([]Sample, error) {
	rows, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, err
	}
	var samples []Sample
	for i, row := range rows[min(1, len(rows)):] { // the first names the columns
		var s Sample
		for j, field := range []*float64{&s.X[0], &s.X[1], &s.Y} {
			if *field, err = strconv.ParseFloat(row[j], 64); err != nil {
				return nil, fmt.Errorf("row %d: %w", i+1, err)
			}
		}
		samples = append(samples, s)
	}
	return samples, nil
}

// save replaces the checkpoint in one step: a run killed at any moment leaves
// the old one or the new one, never half of one.
func save(path string, c checkpoint) error {
	raw, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".checkpoint-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // after the rename there is nothing to remove
	_, err = f.Write(raw)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func load(path string) (checkpoint, error) {
	var c checkpoint
	raw, err := os.ReadFile(path)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, fmt.Errorf("%s: %w; remove it to start anew", path, err)
	}
	if m := c.Model; m == nil || len(m.InB) != len(m.In) || len(m.Out) != len(m.In) {
		return c, fmt.Errorf("%s holds no whole model; remove it to start anew", path)
	}
	return c, nil
}
