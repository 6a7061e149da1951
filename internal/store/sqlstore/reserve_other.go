//go:build !linux

package sqlstore

import "errors"

// keepRoom is not to be had here.
func keepRoom(string, int64, int64) error { return errors.ErrUnsupported }

func volumeSize(string) int64 { return 0 }

func isFull(error) bool { return false }
