package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"time"
)

// file is one of an archive.
type file struct {
	name string
	mode int64
	data []byte
}

// tarred makes a .tar.gz in which nothing depends on the machine: files in the order
// given, of root, all of one time.
func tarred(files []file, date time.Time) ([]byte, error) {
	var out bytes.Buffer
	squeezed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := tarTo(tar.NewWriter(squeezed), files, date); err != nil {
		return nil, err
	}
	err = squeezed.Close()
	return out.Bytes(), err
}

func tarTo(w *tar.Writer, files []file, date time.Time) error {
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: date, Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		if _, err := w.Write(f.data); err != nil {
			return err
		}
	}
	return w.Close()
}

func zipped(files []file, date time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		to, err := w.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: date})
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}
