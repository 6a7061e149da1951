package kubetest_test

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/musterhq/muster/internal/testing/kubetest"
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	defer func() {
		if common.cluster == nil {
			return
		}
		if err := common.cluster.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "the shared cluster's end:", err)
			code = 1
		}
	}()
	return m.Run()
}

// common is the cluster of all tests that do not stop parts of it.
var common struct {
	once    sync.Once
	cluster *kubetest.Cluster
	err     error
}

func shared(tb testing.TB) *kubetest.Cluster {
	tb.Helper()
	common.once.Do(func() { common.cluster, common.err = kubetest.Open(kubetest.Options{QuickLoss: true}) })
	if common.err != nil {
		kubetest.Fail(tb, common.err)
	}
	return common.cluster
}

var errStill = errors.New("still there")
