// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// An alert is what Prometheus tells of one.
type alert struct {
	State       string
	Labels      map[string]string
	Annotations map[string]string
}

// ready waits until all nodes of the fleet have readings, or Prometheus its data.
func ready(ctx context.Context, address string, ended <-chan error) error {
	tick := time.NewTicker(patience / 10)
	defer tick.Stop()
	for {
		if resp, err := http.Get("http://" + address + "/-/ready"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			return err
		case <-tick.C:
		}
	}
}

// watch prints each alert when it begins to fire and when it is over.
func watch(ctx context.Context, prometheus, fleet string, ended <-chan error) error {
	firing := map[string]string{} // an alert's labels and its summary
	tick := time.NewTicker(patience)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			if ctx.Err() != nil {
				return nil
			}
			return err
		case <-tick.C:
		}
		alerts, err := ask(ctx, prometheus)
		if err != nil {
			continue // it is not up yet
		}
		now := map[string]string{}
		for _, a := range alerts {
			if a.State != "firing" {
				continue
			}
			key := fmt.Sprint(a.Labels)
			now[key] = a.Annotations["summary"]
			if _, old := firing[key]; !old {
				say("FIRING  ", fmt.Sprintf("%s\n                   http://%s/%s/", a.Annotations["summary"], fleet, a.Labels["instance"]))
			}
		}
		for _, key := range slices.Sorted(maps.Keys(firing)) {
			if _, still := now[key]; !still {
				say("resolved", firing[key])
			}
		}
		firing = now
	}
}

func say(state, text string) {
	fmt.Printf("%s  %s %s\n", time.Now().Format(time.TimeOnly), state, text)
}

func ask(ctx context.Context, prometheus string) ([]alert, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+prometheus+"/api/v1/alerts", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var r struct{ Data struct{ Alerts []alert } }
	return r.Data.Alerts, json.NewDecoder(resp.Body).Decode(&r)
}
