# Stands in for the module of this name that PostgreSQL's own tests use: the few functions that the
# tests of pgbench call, written for tests/pgbench_suite/run.py.
package PostgreSQL::Test::Utils;

use strict;
use warnings;
use Exporter 'import';
use Test::More;

our @EXPORT = qw(append_to_file command_checks_all slurp_file run_log);
our $tmp_check = $ENV{SUITE_FOLDER};

sub slurp_file
{
	my ($path) = @_;
	open my $file, '<', $path or die "$path: $!";
	local $/;
	my $text = <$file>;
	return $text // '';
}

sub append_to_file
{
	my ($path, $text) = @_;
	open my $file, '>>', $path or die "$path: $!";
	print $file $text;
	close $file;
	return;
}

# What a program says and ends with; one that takes too long is killed.
sub outcome
{
	my ($command) = @_;
	my ($out, $err) = map { "$tmp_check/$_.$$" } qw(stdout stderr);
	my $child = fork;
	if (!$child)
	{
		open STDOUT, '>', $out;
		open STDERR, '>', $err;
		exec 'timeout', '-k', '1', $ENV{SUITE_LIMIT_S}, @$command or exit 127;
	}
	waitpid $child, 0;
	return ($? >> 8, slurp_file($out), slurp_file($err));
}

sub command_checks_all
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($command, $wanted, $out, $err, $name) = @_;
	my ($code, $stdout, $stderr) = outcome($command);
	is($code, $wanted, "$name: exit code") or diag($stderr);
	like($stdout, $_, "$name: stdout") for @$out;
	like($stderr, $_, "$name: stderr") for @$err;
	return;
}

sub run_log
{
	my ($command, %streams) = @_;
	my ($code, $out, $err) = outcome($command);
	${ $streams{'2>'} } = $err if $streams{'2>'};
	return $code == 0;
}

1;
