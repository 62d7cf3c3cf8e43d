package results_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedbayes/algorithms"
	"fedbayes/internal/federation"
	"fedbayes/internal/metrics"
	"fedbayes/internal/results"
)

var head = results.Head{Algo: "toy", Dataset: "toys", Regime: "small", Model: "mlp:8,8", Seed: 7}

// pooled returns scores of an accuracy, the same for two clients.
func pooled(accuracy float64) *federation.Pooled {
	r := metrics.Report{N: 10, Accuracy: accuracy, NLL: 0.25, Brier: 0.125, ECE: 0.0625}
	return &federation.Pooled{Report: r, Clients: metrics.Across([]metrics.Report{r, r})}
}

// evaluation returns one with both models and two clients, the second of which did not train.
func evaluation(round int, pm, gm float64) federation.Evaluation {
	p, g := pooled(pm), pooled(gm)
	e := federation.Evaluation{Round: round, Personal: p, Global: g, Loss: 0.5, KL: 2, Clamped: 3, Vitals: algorithms.Vitals{Norm: 1.5, Sigma: 0.25}}
	e.BytesUp, e.BytesDown = 100, 200
	e.Clients = []federation.Scores{
		{Client: 0, Train: 5, Test: 10, Personal: &p.Report, Global: &g.Report, Trained: true, Report: algorithms.Report{Loss: 0.5, KL: 2, Clamped: 3}},
		{Client: 1, Train: 0, Test: 10, Personal: &p.Report, Global: &g.Report},
	}
	return e
}

func create(t *testing.T, dir string, force bool) *results.Run {
	t.Helper()
	r, err := results.Create(dir, force, head, map[string]int{"answer": 42})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Finish(federation.Result{}, nil) }) // closes the files, if the test has not
	return r
}

func record(t *testing.T, r *results.Run, evaluations ...federation.Evaluation) {
	t.Helper()
	for _, e := range evaluations {
		if err := errors.Join(r.Round(e.Round), r.Evaluation(e)); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestRows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a,b")
	r := create(t, dir, false)
	global := evaluation(2, 0, 0.75)
	global.Personal, global.KL, global.Global.NLL, global.Vitals.Sigma = nil, math.NaN(), math.Inf(1), math.NaN()
	for i := range global.Clients {
		global.Clients[i].Personal = nil
	}
	record(t, r, evaluation(1, 0.875, 0.75), global)
	if _, err := r.Finish(federation.Result{}, nil); err != nil {
		t.Fatal(err)
	}
	wantRounds := `run,algo,dataset,regime,model,seed,round,pm_acc,gm_acc,pm_nll,gm_nll,pm_ece,gm_ece,pm_acc_worst,gm_acc_worst,train_loss,kl,bytes_up,bytes_down,train_seconds,eval_seconds,gm_norm,gm_sigma
a-b,toy,toys,small,mlp:8-8,7,1,0.875,0.75,0.25,0.25,0.0625,0.0625,0.875,0.75,0.5,2,100,200,0.000,0.000,1.5,0.25
a-b,toy,toys,small,mlp:8-8,7,2,,0.75,,,,0.0625,,0.75,0.5,,100,200,0.000,0.000,1.5,
`
	if got := read(t, dir, "rounds.csv"); got != wantRounds {
		t.Errorf("rounds.csv:\n%swant\n%s", got, wantRounds)
	}
	wantClients := `run,round,client,train,test,pm_acc,gm_acc,pm_nll,gm_nll,pm_ece,gm_ece,train_loss,kl,clamped
a-b,1,0,5,10,0.875,0.75,0.25,0.25,0.0625,0.0625,0.5,2,3
a-b,1,1,0,10,0.875,0.75,0.25,0.25,0.0625,0.0625,,,
a-b,2,0,5,10,,0.75,,,,0.0625,0.5,2,3
a-b,2,1,0,10,,0.75,,,,0.0625,,,
`
	if got := read(t, dir, "clients.csv"); got != wantClients {
		t.Errorf("clients.csv:\n%swant\n%s", got, wantClients)
	}
	if got, want := read(t, dir, "config.json"), "{\n  \"answer\": 42\n}\n"; got != want {
		t.Errorf("config.json: %q, want %q", got, want)
	}
}

// wholeLines returns an error if text is not whole rows of one length. A row is one write, of which a file system may show the
// part up to the end of a page before the rest.
func wholeLines(text string) error {
	if len(text)%4096 == 0 {
		text = text[:strings.LastIndex(text, "\n")+1]
	}
	if text == "" {
		return nil // created, but not yet written to
	}
	if !strings.HasSuffix(text, "\n") {
		return fmt.Errorf("ends in the middle of a line: %q", text[strings.LastIndex(text, "\n")+1:])
	}
	_, err := csv.NewReader(strings.NewReader(text)).ReadAll() // which wants rows of one length
	return err
}

// TestWholeLines reads the CSVs while they are written.
func TestWholeLines(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	r := create(t, dir, false)
	done, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(failed)
		for {
			for _, name := range []string{"rounds.csv", "clients.csv"} {
				text, err := os.ReadFile(filepath.Join(dir, name))
				if err := errors.Join(err, wholeLines(string(text))); err != nil {
					failed <- fmt.Errorf("%s: %w", name, err)
					return
				}
			}
			select {
			case <-done:
				return
			default:
			}
		}
	}()
	for i := range 300 {
		record(t, r, evaluation(i+1, 1/float64(i+1), 1/float64(i+3)))
		rounds, clients := read(t, dir, "rounds.csv"), read(t, dir, "clients.csv")
		if got, want := strings.Count(rounds, "\n"), i+2; got != want {
			t.Fatalf("after evaluation %d: %d lines in rounds.csv, want %d", i+1, got, want)
		}
		if got, want := strings.Count(clients, "\n"), 2*(i+1)+1; got != want {
			t.Fatalf("after evaluation %d: %d lines in clients.csv, want %d", i+1, got, want)
		}
	}
	close(done)
	if err := <-failed; err != nil {
		t.Error(err)
	}
}

func TestHeldFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "run")
	if err := results.Check(dir, false); err != nil {
		t.Errorf("a folder that is not there: %v", err)
	}
	first := create(t, dir, false)
	record(t, first, evaluation(1, 0.5, 0.5))
	note := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(note, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := results.Check(dir, false)
	if want := dir + " already holds a run (rounds.csv, clients.csv, config.json): name another folder, or replace it with --force"; err == nil || err.Error() != want {
		t.Errorf("Check: %v, want %s", err, want)
	}
	var already *results.Held
	if _, err := results.Create(dir, false, head, nil); !errors.As(err, &already) || already.Busy {
		t.Errorf("Create: %v, want an error that it holds a run", err)
	}
	if err := results.Check(dir, true); err != nil {
		t.Errorf("Check with force: %v", err)
	}
	if _, err := first.Finish(federation.Result{}, nil); err != nil {
		t.Fatal(err)
	}
	create(t, dir, true)
	if got := strings.Count(read(t, dir, "rounds.csv"), "\n"); got != 1 {
		t.Errorf("Create with force left %d lines in rounds.csv, want 1", got)
	}
	if got := read(t, dir, "notes.txt"); got != "mine" {
		t.Errorf("Create with force left %q in another file", got)
	}
	if err := results.Check(note, true); err == nil {
		t.Error("Check of a file: no error")
	}
}

// TestForceRemovesSummary: a run that is replaced and then killed must not look finished.
func TestForceRemovesSummary(t *testing.T) {
	dir := t.TempDir()
	if _, err := create(t, dir, false).Finish(federation.Result{}, nil); err != nil {
		t.Fatal(err)
	}
	create(t, dir, true)
	if _, err := os.Stat(filepath.Join(dir, "summary.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("summary.json of the old run: %v, want it gone", err)
	}
}

func TestSummary(t *testing.T) {
	dir := t.TempDir()
	r := create(t, dir, false)
	record(t, r, evaluation(1, 0, 0.25)) // not among the last ten
	for i := range 10 {
		pm := 0.5
		if i == 3 || i == 5 {
			pm = 0.75
		}
		record(t, r, evaluation(10*(i+1), pm, 0.25))
	}
	drawn := evaluation(100, 0.375, math.NaN())
	drawn.MC = 10
	if _, err := r.Finish(federation.Result{Drawn: &drawn}, nil); err != nil {
		t.Fatal(err)
	}
	var s results.Summary
	if err := json.Unmarshal([]byte(read(t, dir, "summary.json")), &s); err != nil {
		t.Fatal(err)
	}
	if s.Status != "finished" || s.Rounds != 100 || s.Evaluations != 11 {
		t.Errorf("status %q, %d rounds, %d evaluations, want finished, 100, 11", s.Status, s.Rounds, s.Evaluations)
	}
	// The earlier of equals.
	if s.BestPM.Round != 40 || s.BestPM.Acc != 0.75 || s.BestGM.Round != 1 || s.LastPM.Round != 100 || s.LastPM.Acc != 0.5 {
		t.Errorf("best PM %+v, best GM %+v, last PM %+v", s.BestPM, s.BestGM, s.LastPM)
	}
	if want := results.Number((8*0.5 + 2*0.75) / 10); s.Mean.Of != 10 || s.Mean.PM != want || s.Mean.GM != 0.25 {
		t.Errorf("mean %+v, want PM %v, GM 0.25 over 10", s.Mean, want)
	}
	if s.Drawn.MC != 10 || s.Drawn.PM.Acc != 0.375 || !math.IsNaN(float64(s.Drawn.GM.Acc)) {
		t.Errorf("drawn %+v", s.Drawn)
	}
}

func TestSummaryOfNothing(t *testing.T) {
	dir := t.TempDir()
	runErr := fmt.Errorf("round 1: client 2: %w", &algorithms.NonFinite{Step: 3, What: "loss", Value: math.NaN()})
	if _, err := create(t, dir, false).Finish(federation.Result{}, runErr); err != nil {
		t.Fatal(err)
	}
	text := read(t, dir, "summary.json")
	for _, want := range []string{`"status": "diverged"`, "round 1: client 2: step 3", `"best_pm": null`, `"pm_acc": null`} {
		if !strings.Contains(text, want) {
			t.Errorf("summary.json lacks %s:\n%s", want, text)
		}
	}
}

func TestStatus(t *testing.T) {
	for _, tt := range []struct {
		runErr error
		want   string
	}{
		{nil, "finished"},
		{fmt.Errorf("round 1: %w", &algorithms.NonFinite{}), "diverged"},
		{fmt.Errorf("round 1: %w", &algorithms.Collapsed{}), "diverged"},
		{fmt.Errorf("round 1: %w", context.Canceled), "interrupted"},
		{errors.New("disk full"), "failed"},
	} {
		s, err := create(t, t.TempDir(), false).Finish(federation.Result{}, tt.runErr)
		if err != nil || s.Status != tt.want {
			t.Errorf("%v: status %q (%v), want %q", tt.runErr, s.Status, err, tt.want)
		}
	}
}

// TestLeftovers: nothing but the four files is left in the folder.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	if _, err := create(t, dir, false).Finish(federation.Result{}, nil); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if want := []string{"clients.csv", "config.json", "rounds.csv", "summary.json"}; !slices.Equal(got, want) {
		t.Errorf("files %v, want %v", got, want)
	}
}
