//go:build linux

package oci_test

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	fastgzip "github.com/klauspost/compress/gzip"

	"github.com/musterhq/muster/internal/oci"
	"github.com/musterhq/muster/internal/testing/ocitest"
)

// benchMiB is how large the image of BenchmarkPull is when unpacked; set
// OCI_BENCH_MIB=1024 for the figure that is quoted.
func benchMiB(b *testing.B) int {
	n, err := strconv.Atoi(os.Getenv("OCI_BENCH_MIB"))
	if err != nil || n < 1 {
		return 32
	}
	return n
}

// BenchmarkPull pulls an image of ten layers from loopback, and as lower bounds
// reads the same compressed bytes from files and unpacks them, as many at the
// same time as the pull does, without registry, network, digests or a copy to
// resume from: with the standard library's gunzip (ratio), and with the faster
// one that the pull uses (ratio-fast).
func BenchmarkPull(b *testing.B) {
	const layers, filesPerLayer = 10, 40
	size := benchMiB(b) << 20 / layers / filesPerLayer
	r := ocitest.New(b, ocitest.OnDisk(b.TempDir()))
	packed := b.TempDir()
	var paths []string
	var img v1.Image
	var all []*ocitest.Layer
	for i := range layers {
		var files []ocitest.File
		for j := range filesPerLayer {
			files = append(files, ocitest.File{Path: fmt.Sprintf("usr/lib/l%d/d%d/f%d", i, j%7, j), Body: string(ocitest.Noise(uint64(i*1000+j), size))})
		}
		l := ocitest.Files(files...)
		p := filepath.Join(packed, fmt.Sprint(i))
		if err := os.WriteFile(p, l.Packed, 0o600); err != nil {
			b.Fatal(err)
		}
		paths, all = append(paths, p), append(all, l)
	}
	img = ocitest.Image(b, v1.Config{}, all...)
	r.Push(b, "big:v1", img)
	all, img = nil, nil
	runtime.GC()
	b.SetBytes(int64(size) * layers * filesPerLayer)
	var pulled, std, fast cost
	for b.Loop() {
		s := open(b, oci.Options{})
		pulled.add(func() { pull(b, s, r.Ref("big:v1"), oci.PullOptions{}) })

		b.StopTimer()
		s.Close()
		os.RemoveAll(s.Dir())
		std.add(func() { unpackAll(b, paths, func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }) })
		fast.add(func() { unpackAll(b, paths, func(r io.Reader) (io.Reader, error) { return fastgzip.NewReader(r) }) })
		b.StartTimer()
	}
	n := float64(b.N)
	b.ReportMetric(pulled.wall.Seconds()/n, "s/pull")
	b.ReportMetric(pulled.cpu.Seconds()/n, "cpu-s/pull")
	b.ReportMetric(pulled.wall.Seconds()/std.wall.Seconds(), "ratio")
	b.ReportMetric(pulled.cpu.Seconds()/std.cpu.Seconds(), "cpu-ratio")
	b.ReportMetric(pulled.wall.Seconds()/fast.wall.Seconds(), "ratio-fast")
	b.ReportMetric(pulled.cpu.Seconds()/fast.cpu.Seconds(), "cpu-ratio-fast")
}

// cost is what something took, by the clock and of the processors.
type cost struct{ wall, cpu time.Duration }

func (c *cost) add(fn func()) {
	start, used := time.Now(), cpuTime()
	fn()
	c.wall += time.Since(start)
	c.cpu += cpuTime() - used
}

// unpackAll is the lower bound.
func unpackAll(b *testing.B, paths []string, gunzip func(io.Reader) (io.Reader, error)) {
	dir, err := os.MkdirTemp("", "bound-")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(dir)
	slots := make(chan struct{}, max(3, runtime.NumCPU()))
	var all sync.WaitGroup
	for i, p := range paths {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if err := unpackOne(p, filepath.Join(dir, fmt.Sprint(i)), gunzip); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
}

func unpackOne(path, dir string, gunzip func(io.Reader) (io.Reader, error)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gunzip(f)
	if err != nil {
		return err
	}
	buf := make([]byte, 256<<10)
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		p := filepath.Join(dir, h.Name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			return err
		}
		out, err := os.OpenFile(p, os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		if _, err := io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{t}, buf); err != nil {
			return err
		}
		if err := out.Close(); err != nil {
			return err
		}
	}
}
