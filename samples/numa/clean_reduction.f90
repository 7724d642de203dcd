! Clean: a reduction, in which each thread adds up what it computes itself.
program clean_reduction
  use omp_lib
  implicit none
  integer, parameter :: steps = 30000000
  integer :: threads, i
  real(8) :: total, x
  character(16) :: argument

  threads = 4
  call get_command_argument(1, argument)
  if (len_trim(argument) > 0) read (argument, *) threads
  call omp_set_num_threads(threads)
  total = 0
  !$omp parallel do private(x) reduction(+:total)
  do i = 1, steps
    x = (i - 0.5d0)/steps
    total = total + 4/(1 + x*x)
  end do
  !$omp end parallel do
  print '(a,f0.6)', 'checksum ', total/steps
end program
