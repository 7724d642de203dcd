! A field that the first thread fills before all threads work on their parts of it.
program field_blocks
  use omp_lib
  implicit none
  integer, parameter :: cells = 2**19, rounds = 60
  real(8), allocatable :: field(:)
  integer :: threads, round, i
  real(8) :: total
  character(16) :: argument

  threads = 4
  call get_command_argument(1, argument)
  if (len_trim(argument) > 0) read (argument, *) threads
  call omp_set_num_threads(threads)
  allocate (field(cells)) ! PLANTED: remote-access
  do i = 1, cells
    field(i) = mod(i, 7)
  end do
  total = 0
  !$omp parallel private(round)
  do round = 1, rounds
    !$omp do schedule(static)
    do i = 1, cells
      field(i) = field(i)*0.5d0 + 1 ! PLANTED: remote-access
    end do
    !$omp end do nowait
  end do
  !$omp do schedule(static) reduction(+:total)
  do i = 1, cells
    total = total + field(i)
  end do
  !$omp end do
  !$omp end parallel
  print '(a,f0.3)', 'checksum ', total
end program
