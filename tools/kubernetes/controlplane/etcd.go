package main

import (
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/embed"
)

// runEtcd serves one etcd member over plain HTTP until it is told to end. It
// never waits for the disk: what it holds does not outlive a test.
func runEtcd(args []string) error {
	flags := pflag.NewFlagSet("etcd", pflag.ContinueOnError)
	dir := flags.String("dir", "", "folder of the data")
	client := flags.String("client", "", "address that clients use, HOST:PORT")
	peer := flags.String("peer", "", "address that other members would use, HOST:PORT")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c := embed.NewConfig()
	c.Dir = *dir
	clients, peers := url.URL{Scheme: "http", Host: *client}, url.URL{Scheme: "http", Host: *peer}
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{clients}, []url.URL{clients}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peers}, []url.URL{peers}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.UnsafeNoFsync = true
	c.LogLevel = "warn"
	c.QuotaBackendBytes = 4 << 30
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	e, err := embed.StartEtcd(c)
	if err != nil {
		return fmt.Errorf("start in %s: %w", *dir, err)
	}
	defer e.Close()
	select {
	case <-signals:
		return nil
	case err := <-e.Err():
		return err
	}
}
