# Stands in for the module of this name that PostgreSQL's own tests use: the server is one that
# tests/pgbench_suite/run.py started and named in the environment.
package PostgreSQL::Test::Cluster;

use strict;
use warnings;
use Test::More;
use PostgreSQL::Test::Utils;

sub new { return bless {}, shift }
sub init { return }
sub start { return }
sub stop { return }
sub basedir { return $ENV{SUITE_FOLDER} }
sub logfile { return $ENV{SUITE_LOG} }

sub psql
{
	my ($self, $database, $sql) = @_;
	my ($code, $out, $err) = PostgreSQL::Test::Utils::outcome(
		[ 'psql', '-XAtq', '-d', $database, '-v', 'ON_ERROR_STOP=1', '-c', $sql ]);
	chomp($out, $err);
	return ($code, $out, $err);
}

# A tablespace lies in a folder of the server's own user.
sub safe_psql
{
	my ($self, $database, $sql) = @_;
	chown $ENV{SUITE_SERVER_USER}, -1, $1 if $sql =~ /LOCATION '([^']+)'/;
	my ($code, $out, $err) = $self->psql($database, $sql);
	die "$sql: $err" if $code;
	return $out;
}

sub append_conf
{
	my ($self, $name, $text) = @_;
	append_to_file($ENV{SUITE_CONFIGURATION}, "$text\n");
	return;
}

# The server has read its settings when it says so.
sub reload
{
	my ($self) = @_;
	my $before = () = slurp_file($self->logfile) =~ /received SIGHUP/g;
	$self->safe_psql('postgres', 'SELECT pg_reload_conf()');
	for (1 .. 100)
	{
		my $now = () = slurp_file($self->logfile) =~ /received SIGHUP/g;
		last if $now > $before;
		select undef, undef, undef, 0.05;
	}
	return;
}

sub pgbench
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($self, $options, $code, $out, $err, $name, $files, @more) = @_;
	my @named;
	for my $file (sort keys %{ $files // {} })
	{
		my $path = $self->basedir . "/$file";
		push @named, '--file', $path;
		$path =~ s/\@\d+$//;
		unlink $path;
		append_to_file($path, $files->{$file});
	}
	command_checks_all([ 'pgbench', split(/\s+/, $options), @named, @more ],
		$code, $out, $err, $name);
	return;
}

1;
