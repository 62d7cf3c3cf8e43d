package cli_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// The runs of this file are processes of their own, because of what is done to them from outside.

// TestInterrupt sends Ctrl-C and SIGTERM to runs that have printed an evaluation.
func TestInterrupt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals to send")
	}
	interrupt(t, os.Interrupt, 130, "interrupted")
	interrupt(t, syscall.SIGTERM, 143, "terminated")
}

func interrupt(t *testing.T, signal os.Signal, status int, word string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	cmd := exec.Command(os.Args[0], append([]string{"train", "--out", dir, "--rounds", "100000000"},
		strings.Fields(strings.Replace(tinyLabels, "--rounds 2", "", 1))...)...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	var stdout strings.Builder
	cmd.Stdout = &stdout
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var last string
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		last = lines.Text()
		if strings.HasPrefix(last, "round ") {
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			for lines.Scan() {
				last = lines.Text()
			}
			break
		}
	}
	_ = cmd.Wait()
	want := regexp.MustCompile(`^fedbayes: ` + word + ` after \d+ of 100000000 rounds; results so far are in .*$`)
	if got := cmd.ProcessState.ExitCode(); got != status || !want.MatchString(last) {
		t.Errorf("status %d, stderr ends with %q, want %d and %s", got, last, status, want)
	}
	if strings.Count(stdout.String(), "\n") != 1 || !strings.Contains(stdout.String(), " of 100000000 rounds (best ") {
		t.Errorf("stdout %q, want the summary", &stdout)
	}
	for _, name := range []string{"rounds.csv", "clients.csv"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.HasSuffix(string(text), "\n") || len(table(t, filepath.Join(dir, name))) == 0 {
			t.Errorf("%s (%v) ends with %q, want whole lines", name, err, text[max(0, len(text)-40):])
		}
	}
	s := object(t, filepath.Join(dir, "summary.json"))
	if s["status"] != "interrupted" || s["rounds"].(float64) < 1 || "fedbayes: "+s["error"].(string) != last {
		t.Errorf("summary.json: %v", s)
	}
}

// TestClosedOutput: a run whose output is cut off, as by head, finishes its files, and says so where it still can.
func TestClosedOutput(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no pipes like these")
	}
	command := func() (dir string, cmd *exec.Cmd) {
		dir = filepath.Join(t.TempDir(), "run")
		cmd = exec.Command(os.Args[0], append([]string{"train", "--out", dir}, strings.Fields(strings.Replace(tinyLabels, "--rounds 2", "--rounds 50", 1))...)...)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		return dir, cmd
	}
	finished := func(what, dir string) {
		if s := object(t, filepath.Join(dir, "summary.json")); s["status"] != "finished" || s["rounds"] != 50.0 {
			t.Errorf("%s: summary.json: %v", what, s)
		}
	}

	dir, cmd := command()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := pipe.Close(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if got, want := stderr.String(), "fedbayes: output: write /dev/stdout: broken pipe\n"; cmd.ProcessState.ExitCode() != 1 || !strings.HasSuffix(got, want) {
		t.Errorf("stdout closed: %v, stderr %q, want status 1 and %q", cmd.ProcessState, got, want)
	}
	finished("stdout closed", dir)

	for _, lines := range []int{0, 1, 5} {
		dir, cmd := command()
		var stdout strings.Builder
		cmd.Stdout = &stdout
		pipe, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		out := bufio.NewScanner(pipe)
		for range lines {
			out.Scan()
		}
		if err := pipe.Close(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		what := fmt.Sprintf("stderr closed after %d lines", lines)
		if cmd.ProcessState.ExitCode() != 0 || !strings.Contains(stdout.String(), " after 50 rounds (best ") {
			t.Errorf("%s: %v, stdout %q, want status 0 and the summary", what, cmd.ProcessState, &stdout)
		}
		finished(what, dir)
	}
}

// TestSharedSecond: runs that begin in one second get folders of their own; of those that are to share one, one runs.
func TestSharedSecond(t *testing.T) {
	t.Chdir(t.TempDir())
	race := func(args ...string) (statuses map[int]int, stderrs string) {
		statuses = map[int]int{}
		var mu sync.Mutex
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				// A process each, as users have it: urfave/cli keeps its help flag in a variable of the package.
				cmd := exec.Command(os.Args[0], append(append([]string{"train", "--quiet"}, strings.Fields(tinyLabels)...), args...)...)
				cmd.Env = append(os.Environ(), asProgram+"=1")
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				err := cmd.Run()
				mu.Lock()
				defer mu.Unlock()
				if cmd.ProcessState == nil {
					stderrs += err.Error()
					return
				}
				statuses[cmd.ProcessState.ExitCode()]++
				stderrs += stderr.String()
			})
		}
		group.Wait()
		return statuses, stderrs
	}
	if statuses, stderrs := race(); statuses[0] != 4 {
		t.Errorf("statuses %v, want 4 times 0: %s", statuses, stderrs)
	}
	if found, err := filepath.Glob("results/*/summary.json"); err != nil || len(found) != 4 {
		t.Errorf("%v (%v), want 4 runs", found, err)
	}
	statuses, stderrs := race("--out", "one")
	if statuses[0] != 1 || statuses[2] != 3 || strings.Count(stderrs, "--out one") != 3 {
		t.Errorf("one folder: statuses %v, want 0 and three times 2: %s", statuses, stderrs)
	}
}

// killAfter runs the program until it has printed so many rounds, and kills it then. It returns whether it came to that, and
// what the program said on stderr.
func killAfter(t *testing.T, rounds int, args ...string) (killed bool, said []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for out := bufio.NewScanner(pipe); out.Scan(); {
		said = append(said, out.Text())
		if strings.HasPrefix(out.Text(), "round ") {
			seen++
		}
		if seen == rounds && !killed {
			_ = cmd.Process.Kill()
			killed = true
		}
	}
	_ = cmd.Wait()
	return killed, said
}

// TestKilled kills a run and the runs that resume it, each after some lines of output and so at any instant: before a
// checkpoint, within one, or between an evaluation's rows. The end is that of a run that was never stopped.
func TestKilled(t *testing.T) {
	const flags = " --rounds 60 --eval-every 1 --local-steps 2 --batch 8 --clients 4 --model mlp:8 --train-per-class 3 --test-per-class 5" +
		" --watch 0:1 --watch-rounds 0,1,2,3,4,5,6,7,9,12,13,15,18,20,21,25,30,40"
	whole, _ := train(t, flags)
	want := outcome(t, whole)
	dir := filepath.Join(t.TempDir(), "run")
	args := append([]string{"train", "--out", dir, "--checkpoint-every", "2"}, strings.Fields(flags)...)
	kills := 0
	for _, lines := range []int{7, 3, 5, 4, 8, 3, 6, 1000} {
		killed, said := killAfter(t, lines, args...)
		if killed {
			kills++
		}
		for _, line := range said {
			if strings.HasPrefix(line, "fedbayes: ") || strings.HasPrefix(line, "note: ") {
				t.Errorf("after %d lines: %s", lines, line)
			}
		}
		for _, name := range []string{"rounds.csv", "clients.csv", "beliefs.csv"} {
			if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.HasSuffix(string(text), "\n") {
				t.Errorf("%s (%v) ends with %q, want whole lines", name, err, text[max(0, len(text)-40):])
			}
		}
		args = []string{"train", "--resume", dir}
	}
	if kills < 3 { // on a slow machine a run can be over before it is killed
		t.Errorf("%d kills, want some", kills)
	}
	if got := outcome(t, dir); got != want {
		t.Errorf("killed %d times and resumed, it is\n%s\nwant\n%s", kills, got, want)
	}
}

// TestInterruptAndResume stops a run with Ctrl-C, as it prints its first evaluation, and resumes it.
func TestInterruptAndResume(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals to send")
	}
	const flags = " --rounds 300 --eval-every 30 --local-steps 2 --batch 8 --clients 4 --model mlp:8 --train-per-class 3 --test-per-class 5"
	whole, _ := train(t, flags)
	dir := filepath.Join(t.TempDir(), "run")
	cmd := exec.Command(os.Args[0], append([]string{"train", "--out", dir}, strings.Fields(flags)...)...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for out := bufio.NewScanner(pipe); out.Scan(); {
		if strings.HasPrefix(out.Text(), "round  30 ") {
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait()
	if s := object(t, filepath.Join(dir, "summary.json")); cmd.ProcessState.ExitCode() != 130 || s["status"] != "interrupted" || s["rounds"].(float64) < 30 {
		t.Errorf("%v, summary.json %v, want it interrupted", cmd.ProcessState, s)
	}
	resume(t, dir, "")
	if got, want := outcome(t, dir), outcome(t, whole); got != want {
		t.Errorf("interrupted and resumed, it is\n%s\nwant\n%s", got, want)
	}
}
